"""Where a list of sources is cut into parts that are compiled as one."""

import hashlib
from collections.abc import Sequence


def cuts(names: Sequence[str], parts: int) -> list[int]:
    """The indices at which all parts but the first begin.

    They lie near equal distances, each before the name of a small window with the smallest digest: a file that comes or
    goes in one commit moves none or one of them, and leaves the other parts alone.
    """
    width = len(names) // (4 * parts)
    ideal = [len(names) * part // parts for part in range(1, parts)]
    return [min(range(at - width, at + width + 1), key=lambda index: _rank(names[index])) for at in ideal]


def _rank(name: str) -> str:
    return hashlib.sha256(name.encode()).hexdigest()
