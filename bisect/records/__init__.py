"""The store, the registry of bisections, and the kept artifacts."""
