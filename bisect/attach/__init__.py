"""A report onto a ticket: GitHub, Jira, files."""
