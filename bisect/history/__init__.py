"""git: names become commits; candidates, merges, releases, and what a commit touches."""
