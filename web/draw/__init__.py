"""The charts of pages, each at an address of its own."""
