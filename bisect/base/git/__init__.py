"""How git is called on a clone that is not ours: its objects and refs are read, and of its configuration nothing runs.

A clone's configuration names programs: filters, hooks, monitors, what fetches. Therefore git never works with it, but
in a repository of our own, with a configuration of our own, that borrows the clone's objects and refs. Grafts, replaced
objects, attributes and whatever else could change what the clone holds are not part of that.

Whether git trusts the owner of a clone is asked of git itself, once, when it is opened.
"""
