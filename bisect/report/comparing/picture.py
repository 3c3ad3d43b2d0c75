"""A comparison as a heat map, as PNG or SVG."""

from cpubisect.draw import heat, picture
from cpubisect.report.blocks import clean
from cpubisect.report.comparing.content import TITLES
from cpubisect.views.comparison import SideBySide


def picture_of(told: SideBySide, *, png: bool = False) -> bytes:
    """All tables, one below the other."""
    told = clean(told)
    names = [version.name for version in told.versions]
    spec = clean(heat.heat_map(told.tables, names, TITLES))
    return picture.png(spec) if png else picture.svg(spec).encode(errors="replace")
