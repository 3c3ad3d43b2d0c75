"""What pages and the API show: one function from the registry to a shape for each."""
