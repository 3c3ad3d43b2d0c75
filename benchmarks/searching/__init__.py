"""Worlds with a planted slow-down, and searches that look for it: this product's own and its peers'."""
