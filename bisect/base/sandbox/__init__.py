"""Sandboxes for what other people wrote: what is shown in them, and how their results are taken out of them."""
