"""PURE: observations become the next commit to measure, or a verdict."""
