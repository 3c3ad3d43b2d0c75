"""Builds and probes carried out on this host, for a search or for a comparison, and the rounds of the latter."""
