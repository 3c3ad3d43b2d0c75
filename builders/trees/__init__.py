"""A private tree at one commit: checked out, configured, compiled, and read afterwards."""
