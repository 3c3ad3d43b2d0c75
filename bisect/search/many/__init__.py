"""PURE: what several builders build together, and what of it is ended."""
