"""Where the patches are that a compiler matrix names."""

from importlib.util import find_spec
from pathlib import Path


def patches_of(matrix: Path) -> Path:
    """The folder beside a matrix file, else the one that came with this program."""
    own = matrix.parent / "patches"
    if own.is_dir():
        return own
    # A package without modules has no file of its own, and several places where it is looked for.
    spec = find_spec("cpubisect.patches")
    places = [Path(place) for place in (spec.submodule_search_locations or () if spec else ())]
    return next((place for place in places if place.is_dir()), own)
