"""Charts and flame graphs: data, specification, picture."""
