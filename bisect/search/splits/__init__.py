"""PURE: the numbers between two measured ones, and which of them tells most."""
