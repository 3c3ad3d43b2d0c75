"""Whether the store is what it should be, and what is saved of one that is not."""
