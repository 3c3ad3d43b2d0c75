"""Pictures that were drawn for pages: one that is out of date is shown while the next is being drawn."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass

from markupsafe import Markup

KEPT = 200
"""So many pictures are kept, those that were shown last."""


@dataclass(frozen=True)
class _Drawn:
    mark: Hashable
    picture: Markup


class Gallery:
    """Drawing a chart takes a good part of a second, during which nobody should wait for a page.

    The first picture of a key is waited for. `version` grows whenever a newer one has taken the place of an older.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._drawn: OrderedDict[Hashable, _Drawn] = OrderedDict()
        self._drawing: set[Hashable] = set()
        self.version = 0

    def show(self, key: Hashable, mark: Hashable, draw: Callable[[], Markup], *, final: bool = False) -> Markup:
        """The picture of `key`; `mark` says what it depends on, and one of an older mark may be returned.

        Not so if it is the `final` one, after which no page asks again.
        """
        with self._lock:
            known = self._drawn.get(key)
            if known and (known.mark == mark or not final):
                self._drawn.move_to_end(key)
                if known.mark != mark and key not in self._drawing:
                    self._drawing.add(key)
                    threading.Thread(target=self._redraw, args=(key, mark, draw), daemon=True).start()
                return known.picture
        return self._keep(key, _Drawn(mark, draw()))

    def _redraw(self, key: Hashable, mark: Hashable, draw: Callable[[], Markup]) -> None:
        try:
            self._keep(key, _Drawn(mark, draw()))
            self.version += 1
        finally:
            with self._lock:
                self._drawing.discard(key)

    def _keep(self, key: Hashable, drawn: _Drawn) -> Markup:
        with self._lock:
            self._drawn[key] = drawn
            self._drawn.move_to_end(key)
            while len(self._drawn) > KEPT:
                self._drawn.popitem(last=False)
        return drawn.picture
