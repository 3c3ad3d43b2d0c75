"""What pages may start: repositories, their clones, and a request that becomes a question."""
