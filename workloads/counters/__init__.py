"""How instructions and CPU time are counted, and what of a profile belongs to whom."""
