"""What every room may use: errors, versions, metrics, processes, locks, the home directory."""
