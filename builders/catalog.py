"""Which builder serves an engine: the objects named `BUILDER` (`SCREENING_BUILDER`) in the modules of this room, by the
modules' names in the matrix."""

from cpubisect.base.engine import Engine, offered
from cpubisect.base.errors import UserError
from cpubisect.builders.build import SCREENING
from cpubisect.builders.trees.shop import Builder

_ROOM = "cpubisect.builders"


def builder_of(engine: Engine, variant: str = "") -> Builder:
    """What builds an engine, or what makes that `variant` of its builds; raises UserError, with those there are, if the
    matrix names none."""
    if variant == SCREENING and not engine.screening:
        raise UserError(f"{engine.name} has no screening builder", "name one in the matrix")
    if variant == SCREENING:
        return screening_builder_named(engine.screening, engine.name)
    return builder_named(engine.builder, engine.name)


def builder_named(name: str, engine: str) -> Builder:
    """The builder that the matrix gives the engine of that name; raises UserError, with those there are, if there is
    none."""
    found: Builder = offered(_ROOM, "builder", name, engine)
    return found


def screening_builder_named(name: str, engine: str) -> Builder:
    """The builder of cheap builds that the matrix gives the engine of that name; raises UserError, with those there
    are, if there is none."""
    found: Builder = offered(_ROOM, "screening builder", name, engine)
    return found
