"""The grids: which kinds of worlds the searches are compared in."""

from collections.abc import Iterator
from dataclasses import dataclass, fields

from scipy.special import ndtr

from searching.world import EITHER_WAY, SIGMA, Scatter, World

LAYOUT_MARGIN = 6.0
"""Below this many layout deviations, a step can't be told for sure from builds with one layout each."""

AUDIT = "The audit's worlds"
AUDITED = 251
"""Numbers in each of those: 250 candidates."""

_LABELS = {
    "layout": "layout {:g}σ",
    "others": "{} more steps",
    "drift": "drift {:g}σ/√h",
    "jump": "jump of {:+g}σ",
    "outliers": "{:.0%} outliers",
    "outlier_size": "each {:+g}σ",
    "heavy": "Student t3",
    "dead": "{:.0%} unbuildable",
    "strewn": "strewn",
    "flaky": "{:.0%} fail once",
    "releases": "{} releases built",
    "miscounts": "{:.0%} of the counts wrong",
    "build_s": "build {:g} s",
}


@dataclass(frozen=True)
class Cell:
    """One kind of world, and the `group` of the report it belongs to."""

    group: str
    world: World

    @property
    def name(self) -> str:
        """What tells it from the others, such as `1024, 2σ, layout 0.3σ`."""
        plain = World()
        parts = [str(self.world.size), f"{self.world.step / SIGMA:g}σ" if self.world.step else "no step"]
        if self.world == combined(self.world.size, self.world.step):
            return ", ".join([*parts, "all together"])
        for field in fields(World):
            value = getattr(self.world, field.name)
            if field.name in _LABELS and value != getattr(plain, field.name):
                parts.append(_LABELS[field.name].format(value))
        if self.world.scatter is Scatter.EITHER_WAY:
            low, high = (edge * self.world.layout / SIGMA for edge in EITHER_WAY)
            parts[parts.index(_LABELS["layout"].format(self.world.layout))] = f"layout ±{low:g}–{high:g}σ"
        return ", ".join(parts)

    @property
    def bound(self) -> float | None:
        """Where layout alone makes 99 % impossible with one link of each build: the share that can be right, else None.

        Even with all levels known and no other noise, the build before the culprit (or its own) falls on the wrong
        side of the middle between the levels if its layout is off by half the step.
        """
        layout, half = self.world.layout, self.world.step / 2
        if not layout or not half:
            return None
        if self.world.scatter is Scatter.EITHER_WAY:
            low, high = EITHER_WAY
            off = min(max((high - half / layout) / (high - low), 0.0), 1.0)
            return 1 - off / 2 if off else None
        return float(ndtr(half / layout)) if 2 * half / layout < LAYOUT_MARGIN else None

    @property
    def promised(self) -> bool:
        """True if a step that dominates is at least the noise, and is not hidden by layout."""
        return self.world.step >= SIGMA and self.bound is None


def audit() -> Iterator[Cell]:
    """The kinds of worlds that an audit looked at."""
    for world in (
        World(AUDITED, 0.5),
        World(AUDITED, 1.0),
        World(AUDITED, 2.0),
        World(AUDITED, 2.0, outliers=0.05, outlier_size=10.0),
        World(AUDITED, 2.0, drift=4.0),
        World(AUDITED, 3.0, jump=10.0),
        World(AUDITED, 2.0, heavy=True),
        World(AUDITED, 2.0, layout=1.0),
        World(AUDITED, 2.0, layout=1.0, scatter=Scatter.EITHER_WAY),
        World(AUDITED, 0.0, layout=1.0),
        World(AUDITED, 0.0),
        World(AUDITED, 2.0, dead=0.1, strewn=True),
        World(AUDITED, 2.0, dead=0.3, strewn=True),
        World(AUDITED, 2.0, flaky=0.1),
        World(AUDITED, 2.0, flaky=0.3),
        World(AUDITED, 2.0, miscounts=0.02),
    ):
        yield Cell(AUDIT, world)


def full() -> Iterator[Cell]:
    """Every parameter by itself around the plain world, and some together."""
    for size in (64, 256, 1024, 8192):
        for step in (0.5, 1.0, 2.0, 5.0):
            yield Cell("Size and step", World(size=size, step=step))
    for layout in (0.1, 0.3):
        for step in (0.5, 1.0, 2.0, 5.0):
            yield Cell("Layout of single builds", World(step=step, layout=layout))
    for others in (2, 4, 8):
        for step in (1.0, 2.0, 5.0):
            yield Cell("More steps than one", World(step=step, others=others))
    for drift in (0.5, 2.0):
        for step in (1.0, 2.0, 5.0):
            yield Cell("A host that drifts", World(step=step, drift=drift))
    for step in (1.0, 2.0, 5.0):
        yield Cell("Outliers", World(step=step, outliers=0.05))
    for dead in (0.05, 0.2):
        for size in (64, 1024):
            for step in (1.0, 2.0, 5.0):
                yield Cell("Commits that can't be built", World(size=size, step=step, dead=dead))
    for size in (1024, 8192):
        for step in (1.0, 2.0, 5.0):
            yield Cell("Releases built beforehand", World(size=size, step=step, releases=47))
    for step in (0.5, 1.0, 2.0, 5.0):
        yield Cell("Cheap builds", World(step=step, build_s=60.0))
    for step in (1.0, 2.0, 5.0):
        yield Cell("All together", combined(1024, step))
    # The peers' rules know CPU time only.
    yield from (cell for cell in audit() if cell.world.miscounts is None)


def small() -> Iterator[Cell]:
    """One or two cells of every group."""
    for size, step in ((64, 2.0), (1024, 5.0), (1024, 2.0), (1024, 1.0), (256, 0.5), (8192, 2.0)):
        yield Cell("Size and step", World(size=size, step=step))
    for size, layout, step in ((256, 0.1, 2.0), (256, 0.3, 2.0), (64, 0.3, 1.0)):
        yield Cell("Layout of single builds", World(size=size, step=step, layout=layout))
    for others in (2, 4, 8):
        yield Cell("More steps than one", World(size=256, step=2.0, others=others))
    for drift in (0.5, 2.0):
        yield Cell("A host that drifts", World(size=256, step=2.0, drift=drift))
    yield Cell("Outliers", World(size=256, step=2.0, outliers=0.05))
    for dead in (0.05, 0.2):
        yield Cell("Commits that can't be built", World(size=256, step=2.0, dead=dead))
    yield Cell("Releases built beforehand", World(size=1024, step=2.0, releases=47))
    yield Cell("Cheap builds", World(size=256, step=2.0, build_s=60.0))
    yield Cell("All together", combined(256, 5.0))
    for cell in audit():
        if cell.world.jump or cell.world.heavy or cell.world.flaky or cell.world.strewn or not cell.world.step:
            yield cell


def combined(size: int, step: float) -> World:
    """A world with a little of everything."""
    return World(size, step, layout=0.1, others=2, drift=0.5, outliers=0.05, dead=0.05, releases=min(47, size // 8))
