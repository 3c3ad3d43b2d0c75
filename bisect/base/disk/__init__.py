"""Private directories for work under way, and whether there is space for them."""
