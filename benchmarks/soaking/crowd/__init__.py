"""Bisections on a cluster of real processes that are killed at random moments."""
