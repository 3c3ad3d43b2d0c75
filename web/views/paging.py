"""Lists that are shown page by page."""

import math


def place(total: int, page: int, per_page: int) -> tuple[int, int]:
    """Which page is shown, and how many there are, the first one being 1; a number beyond the last gives the last."""
    pages = max(1, math.ceil(total / per_page))
    return min(max(1, page), pages), pages
