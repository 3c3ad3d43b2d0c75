"""What every view works with."""

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field

from cpubisect.session import Session
from cpubisect.web.catalog import Source
from cpubisect.web.clones import Clones
from cpubisect.web.gallery import Gallery
from cpubisect.web.security import Access


@dataclass(frozen=True)
class Context:
    """One server: its store, who may change something, and which repositories may be bisected; `closing` is set when it
    is to end."""

    session: Session
    access: Access
    sources: Mapping[str, Source]
    clones: Clones
    gallery: Gallery = field(default_factory=Gallery)
    closing: threading.Event = field(default_factory=threading.Event)
