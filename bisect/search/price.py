"""PURE: what measuring a commit costs in seconds: nothing is built twice, and neighbours share most compilations.

Where builds tell what each object was made from, a build takes what is common to all (checkout, configure, objects from
the compiler cache, link) and what it must compile. An object comes from the cache if there is a build in which no file
that it was made from was another one. Elsewhere the price is a guess by distance.
"""

import functools
import itertools
import operator
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean, median

from cpubisect.base.objects import ObjectFile
from cpubisect.search.stats import entropy

HITS_PER_COMPILATION = 60
"""A hit of the compiler cache costs this part of a compilation: with RocksDB 9 s for 329 hits and one compilation,
linking included, against 412 s for 320 compilations."""

SOURCES = (".c", ".cc", ".cpp", ".cxx")
"""How the names of files end that become objects of their own."""

Objects = Mapping[str, ObjectFile]
"""The objects of a build by their names."""

PLACES = 8
"""A forecast is the mean over searches for a step at so many places, each as likely as the others by the weights."""

NEIGHBOUR = 0.3
POWER = 0.9
"""Share of a full build by distance d in commits from the nearest built one: 1 - (1 + NEIGHBOUR d)^-POWER. Fitted to
the means of 60 random places of RocksDB's history, by include graph: 19 % at 1, 29 % at 2, 58 % at 5, 76 % at 10,
87 % at 20, 94 % at 100."""


@dataclass(frozen=True)
class Prices:
    """`full_build_s` is a build with nothing in the compiler cache, `probe_s` one measurement; `positions` are the
    built commits' places on the line, counted in commits, and `free` the numbers whose binary is there; `build_s` is
    what building a number takes where that is known by what it must compile."""

    full_build_s: float
    probe_s: float
    positions: tuple[int, ...]
    free: frozenset[int] = frozenset()
    build_s: Mapping[int, float] = field(default_factory=dict)

    def seconds(self, number: int, position: int) -> float:
        """What measuring a number takes whose commit is at `position`."""
        if number in self.free:
            return self.probe_s
        if number in self.build_s:
            return self.probe_s + self.build_s[number]
        nearest = min((abs(position - built) for built in self._beside(position)), default=10**6)
        return self.probe_s + self.full_build_s * build_share(nearest)

    def _beside(self, position: int) -> Sequence[int]:
        """The built places next to one, before it and from it on."""
        place = bisect_left(self._sorted, position)
        return self._sorted[max(0, place - 1) : place + 1]

    @functools.cached_property
    def _sorted(self) -> list[int]:
        return sorted(self.positions)


def build_share(distance: float) -> float:
    """The part of a full build that a commit takes so many commits away from a built one, as a ratio."""
    return float(1 - (1 + NEIGHBOUR * distance) ** -POWER)


def full_build(seconds: float, hits: int, misses: int) -> float:
    """What a build would have taken with an empty compiler cache, from one that found `hits` of its objects there."""
    done = misses + hits / HITS_PER_COMPILATION
    return seconds * (misses + hits) / done if done else seconds


def positions_of(classes: Collection[Collection[str]]) -> list[int]:
    """The place of each class's built commit on the line, counted in commits: its first, of the last class the last."""
    found, position = [], 0
    for members in classes:
        found.append(position)
        position += len(members)
    return [*found[:-1], position - 1] if len(found) > 1 else found


class Versions:
    """Which version of each file each commit of a chain has, as far as they differ. Commits are bits of masks: bit n
    stands for the n-th one."""

    def __init__(self) -> None:
        self.places: dict[str, int] = {}
        self._runs: dict[str, list[tuple[int, str]]] = {}

    def append(self, sha: str, changed: Mapping[str, tuple[str, str]]) -> None:
        """The next commit of the chain: of each path that differs from the commit appended before the version there and
        the version here, empty where there is no such file."""
        place = self.places[sha] = len(self.places)
        for path, (before, after) in changed.items():
            runs = self._runs.setdefault(path, [(0, before)] if place else [])
            runs.append((place, after))

    @property
    def everywhere(self) -> int:
        """The mask of all commits."""
        return (1 << len(self.places)) - 1

    def changed(self) -> Iterator[str]:
        """The paths that are not the same in all commits."""
        yield from self._runs

    def differing(self, path: str, sha: str) -> int:
        """The mask of the commits in which a file is another than in this one."""
        if path not in self._runs:
            return 0
        place = self.places[sha]
        *_, here = (version for start, version in self._runs[path] if start <= place)
        return self.everywhere & ~self._having(path, here)

    def lacking(self, path: str) -> int:
        """The mask of the commits that are known to have no such file."""
        return self._having(path, "") if path in self._runs else 0

    def _having(self, path: str, wanted: str) -> int:
        runs = self._runs[path]
        ends = [*(start for start, _ in runs[1:]), len(self.places)]
        having = ((start, end) for (start, version), end in zip(runs, ends, strict=True) if version == wanted)
        return sum((1 << end) - (1 << start) for start, end in having)


@dataclass(frozen=True)
class Work:
    """What a build compiles: so many `objects`, which take `seconds` one after the other and the `longest` so many by
    itself, once what must be done before took `first`."""

    objects: int = 0
    seconds: float = 0.0
    longest: float = 0.0
    first: float = 0.0

    def wall_s(self, jobs: int) -> float:
        """How long it takes, so many being compiled at once."""
        return self.first + max(self.seconds / jobs, self.longest)


class Compilations:
    """What each commit of a chain must compile, by the builds of some of them."""

    def __init__(self, versions: Versions, built: Mapping[str, Objects], typical_s: float) -> None:
        """`built` are builds by their commits, which the chain has, the newest last; `typical_s` is how long an object
        takes of which no build tells."""
        self._versions = versions
        self._seconds: dict[str, float] = {}
        self._files: dict[str, tuple[str, ...]] = {}
        self._exist: dict[str, int] = {}
        self._masks: dict[str, int] = {}
        self._supposed: dict[str, dict[str, int]] = {}
        self._before = {name for objects in built.values() for name, one in objects.items() if not one.source}
        changed = frozenset(versions.changed())
        for sha, objects in built.items():
            own = {name: tuple(changed.intersection(one.files)) for name, one in objects.items()}
            self._exist.update({name: self._having(one.source) for name, one in objects.items()})
            self._seconds.update({name: one.seconds for name, one in objects.items() if one.seconds is not None})
            for name, mask in self._stale(own, sha).items():
                self._masks[name] = self._masks.get(name, self._exist[name]) & mask
            self._files.update(own)
        for path in _added(versions, changed, built):
            self._files[path] = (path,)
            self._masks[path] = self._exist[path] = self._having(path)
        self._typical_s = typical_s

    def work(self, also: Iterable[str] = ()) -> dict[str, Work]:
        """By commit what its build compiles, if besides those that are built `also` some others were."""
        masks = dict(self._masks)
        for sha in also:
            for name, mask in self._if_built(sha).items():
                masks[name] &= mask
        alike: dict[int, list[float]] = {}
        first = [0.0] * len(self._versions.places)
        for name, mask in masks.items():
            if name in self._before:
                for place in _bits(mask):
                    first[place] += self._seconds.get(name, 0.0)
            elif mask:
                alike.setdefault(mask, []).append(self._seconds.get(name, self._typical_s))
        places = len(self._versions.places)
        objects, seconds, longest = [0] * places, [0.0] * places, [0.0] * places
        for mask, own in alike.items():
            count, total, most = len(own), sum(own), max(own)
            for place in _bits(mask):
                objects[place] += count
                seconds[place] += total
                longest[place] = max(longest[place], most)
        made = map(Work, objects, seconds, longest, first)
        return dict(zip(self._versions.places, made, strict=True))

    def _if_built(self, sha: str) -> dict[str, int]:
        """What `_stale` would say of this commit's build, which has those of the known objects whose sources it has."""
        if sha not in self._supposed:
            place = self._versions.places[sha]
            there = {name: files for name, files in self._files.items() if self._exist[name] >> place & 1}
            self._supposed[sha] = self._stale(there, sha)
        return self._supposed[sha]

    def _having(self, path: str) -> int:
        return self._versions.everywhere & ~self._versions.lacking(path)

    def _stale(self, files: Mapping[str, Iterable[str]], sha: str) -> dict[str, int]:
        """By object the mask of the commits for which that of this one's build is no good, being made from `files`."""
        differing = {path: self._versions.differing(path, sha) for path in {*itertools.chain(*files.values())}}
        return {name: _any(differing[path] for path in own) for name, own in files.items()}


def _added(versions: Versions, changed: Iterable[str], built: Mapping[str, Objects]) -> Iterator[str]:
    """Sources that no built commit has, in folders of which others are compiled."""
    folders = {_folder(one.source) for objects in built.values() for one in objects.values() if one.source}
    places = _any(1 << versions.places[sha] for sha in built)
    for path in changed:
        if path.endswith(SOURCES) and _folder(path) in folders and versions.lacking(path) & places == places:
            yield path


def _folder(path: str) -> str:
    return path.rpartition("/")[0]


def _any(masks: Iterable[int]) -> int:
    return functools.reduce(operator.or_, masks, 0)


def _bits(mask: int) -> Iterator[int]:
    while mask:
        lowest = mask & -mask
        yield lowest.bit_length() - 1
        mask ^= lowest


@dataclass(frozen=True)
class Built:
    """A finished build: what it took in all, in seconds, its hits and misses of the compiler cache, and its objects."""

    wall_seconds: float
    hits: int
    misses: int
    objects: Objects

    @property
    def compiled(self) -> list[float]:
        """How many seconds each of its compilations took, where that is known."""
        return [one.seconds for one in self.objects.values() if one.source and one.seconds is not None]

    @property
    def work(self) -> Work:
        """What it had to do."""
        before = sum(one.seconds or 0.0 for one in self.objects.values() if not one.source)
        return Work(len(self.compiled), sum(self.compiled), max(self.compiled, default=0.0), before)


def typical_s(builds: Sequence[Built], jobs: int) -> float:
    """How long an object takes to compile: the mean of all that were; before the first, by what hits take."""
    known = [seconds for build in builds for seconds in build.compiled]
    if known:
        return fmean(known)
    guesses = [
        jobs * (full_build(build.wall_seconds, build.hits, build.misses) - build.wall_seconds) / len(build.objects)
        for build in builds
        if build.objects
    ]
    return max(0.0, median(guesses)) if guesses else 0.0


def common_s(builds: Sequence[Built], jobs: int) -> float:
    """What a build takes that compiles nothing: the median of what builds took beside compiling."""
    return median(max(0.0, build.wall_seconds - build.work.wall_s(jobs)) for build in builds)


def likely_cost(
    weights: Sequence[float], price: Callable[[frozenset[int]], Callable[[int], float]]
) -> tuple[float, float]:
    """How many measurements a search for one step is likely to make, and how many seconds they take.

    `weights` are those of the numbers from 1 on, of which the last is measured, as is 0; `price` says what each takes
    once some numbers are built. It is the mean over searches for steps at `PLACES` places of the prior, each of which
    measures what tells most about its interval per second; what one builds makes what it measures next cheaper.
    """
    whole = sum(weights)
    shares = [0.0]
    for weight in weights:
        shares.append(shares[-1] + (weight / whole if whole else 1 / len(weights)))
    steps = [bisect_left(shares, (place + 0.5) / PLACES) for place in range(PLACES)]
    open_ends = [(0, len(weights), frozenset[int](), [min(step, len(weights)) for step in steps])]
    measurements = seconds = 0.0
    while open_ends:
        low, high, built, among = open_ends.pop()
        if high - low < 2 or not among:
            continue
        prices = price(built)
        inner = range(low + 1, high)
        width = shares[high] - shares[low]
        bits = entropy([(shares[n] - shares[low]) / width if width else 0.5 for n in inner])
        number = max(inner, key=lambda n: float(bits[n - low - 1]) / prices(n))
        measurements += len(among) / PLACES
        seconds += prices(number) * len(among) / PLACES
        then = built | {number}
        open_ends.append((low, number, then, [step for step in among if step <= number]))
        open_ends.append((number, high, then, [step for step in among if step > number]))
    return measurements, seconds
