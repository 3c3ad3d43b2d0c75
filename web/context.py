"""What every view works with."""

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from cpubisect.records.comparisons import Comparisons
from cpubisect.records.registry import Registry
from cpubisect.web.security import Access
from cpubisect.web.service.catalog import Source
from cpubisect.web.service.clones import Clones


@dataclass(frozen=True)
class Context:
    """One server: its store, who may change something, and which repositories may be bisected; `closing` is set when it
    is to end."""

    registry: Registry
    access: Access
    sources: Mapping[str, Source]
    clones: Clones
    closing: threading.Event = field(default_factory=threading.Event)

    @cached_property
    def comparisons(self) -> Comparisons:
        """Those of the same home directory."""
        return Comparisons.of(self.registry.home)
