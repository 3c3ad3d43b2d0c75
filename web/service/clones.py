"""Clones of public repositories that are made on first use, in the background: they take minutes."""

import threading

from cpubisect.base.errors import UserError
from cpubisect.base.home import Home
from cpubisect.history.mirrors import mirror_of
from cpubisect.web.service.catalog import Source, is_here


class Clones:
    """One clone at a time, for all requests."""

    def __init__(self, home: Home) -> None:
        self._home = home
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._failures: dict[str, UserError] = {}

    def need(self, source: Source) -> None:
        """Returns if the clone is here; else begins to make it. Raises UserError while it is being made, and once for
        each time that it could not be."""
        if is_here(self._home, source):
            return
        with self._lock:
            failure = self._failures.pop(source.name, None)
            if failure:
                raise failure
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._make, args=(source,), daemon=True)
                self._thread.start()
        raise UserError(
            f"{source.name} must be cloned first, once, and a clone is being made",
            "ask again in some minutes; nothing was started",
        )

    def _make(self, source: Source) -> None:
        try:
            mirror_of(self._home, source.where)
        except UserError as error:
            self._failures[source.name] = error
