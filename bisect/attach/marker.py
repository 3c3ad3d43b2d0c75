"""What our own comments are recognised by, wherever they are posted."""

import hashlib
import json

from cpubisect.base.plain import plain
from cpubisect.records.rows import BisectionRow


def marker_of(row: BisectionRow, target: str) -> str:
    """What a text about this bisection's verdict in that ticket can be recognised by, for whoever has this store.

    It names a bisection by its question, host, time and answer, so that it is the same in a copy of the store.
    """
    known = [row.id, row.created, row.engine, row.question, row.host, row.verdict, target]
    return "cpubisect:" + hashlib.sha256(json.dumps(plain(known), sort_keys=True).encode()).hexdigest()[:32]
