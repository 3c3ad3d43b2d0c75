"""The commands of the command line: each reads arguments and prints; it decides nothing."""
