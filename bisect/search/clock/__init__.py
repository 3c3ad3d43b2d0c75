"""PURE: the search on CPU time, where every reading is noise too."""
