"""A comparison of versions in every form in which it leaves this program."""
