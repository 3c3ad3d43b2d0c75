import pytest

from cpubisect.builders.repairs.diagnostics import Diagnostic, Place
from cpubisect.builders.repairs.judgement import Fate, Sighting, Trial
from cpubisect.builders.repairs.symbols import missing_name

OLD = ("a.cc", "'x' is private within this context")
INCLUDE = Place("a.cc", 3)
TRIAL = Trial("Widget", False, INCLUDE, (Place("a.cc", 20),), "widget.h", frozenset({OLD}))


def seen(message: str, *path: tuple[str, int], noted: tuple[tuple[str, int], ...] = ()) -> Sighting:
    places = tuple(Place(*place) for place in path)
    error = Diagnostic(places[-1].file, places[-1].line, 1, "error", message)
    notes = (tuple(Place(*place) for place in noted),) if noted else ()
    return Sighting(error, places[-1].file, missing_name(error), places, notes)


GONE = "'Widget' was not declared in this scope"
PRIVATE = "'y' is private within this context"


@pytest.mark.parametrize(
    ("sightings", "fate"),
    [
        ([], Fate.KEPT),
        ([seen(GONE, ("a.cc", 21))], Fate.USELESS),
        ([seen(PRIVATE, ("a.cc", 5)), seen(GONE, ("a.cc", 21))], Fate.USELESS),
        ([seen(GONE, ("b.cc", 21))], Fate.KEPT),
        ([seen("invalid use of incomplete type 'Widget'", ("a.cc", 21))], Fate.KEPT),
        ([seen("widget.h: No such file or directory", ("a.cc", 3))], Fate.NOT_FOUND),
        ([seen("'widget.h' file not found", ("b.cc", 1), ("a.cc", 3))], Fate.NOT_FOUND),
        ([seen("base.h: No such file or directory", ("a.cc", 3), ("widget.h", 1))], Fate.HARMFUL),
        ([seen("'Base' does not name a type", ("a.cc", 3), ("widget.h", 1))], Fate.HARMFUL),
        ([seen("'Base' does not name a type", ("a.cc", 2), ("base.h", 1))], Fate.KEPT),
        ([seen(PRIVATE, ("a.cc", 5))], Fate.HARMFUL),
        ([seen(PRIVATE, ("a.cc", 2), ("base.h", 7))], Fate.HARMFUL),
        ([seen(OLD[1], ("a.cc", 5))], Fate.KEPT),
        ([seen(PRIVATE, ("a.cc", 30))], Fate.KEPT),
        ([seen(PRIVATE, ("b.cc", 5))], Fate.KEPT),
        ([seen("'Later' was not declared in this scope", ("a.cc", 5))], Fate.KEPT),
        ([seen("redefinition of 'struct X'", ("a.cc", 30), noted=(("widget.h", 2),))], Fate.HARMFUL),
        ([seen("redefinition of 'struct X'", ("b.cc", 30), noted=(("widget.h", 2),))], Fate.KEPT),
        ([seen("redefinition of 'struct X'", ("b.cc", 30), noted=(("x.h", 2), ("a.cc", 3)))], Fate.HARMFUL),
    ],
)
def test_what_became_of_an_include(sightings: list[Sighting], fate: Fate) -> None:
    assert TRIAL.fate(sightings, fresh=True) is fate


def test_only_the_first_run_tells_what_came_with_an_include() -> None:
    assert TRIAL.fate([seen(PRIVATE, ("a.cc", 5))], fresh=False) is Fate.KEPT
    assert TRIAL.fate([seen(PRIVATE, ("a.cc", 3), ("widget.h", 1))], fresh=False) is Fate.HARMFUL


def test_a_standard_header_is_blamed_only_for_what_it_includes() -> None:
    standard = Trial("Widget", False, INCLUDE, (Place("a.cc", 20),), "", frozenset())
    assert standard.fate([seen(PRIVATE, ("a.cc", 5))], fresh=True) is Fate.KEPT
    assert standard.fate([seen(PRIVATE, ("a.cc", 3), ("cstdint", 1))], fresh=True) is Fate.HARMFUL


def test_templates_are_compiled_when_they_are_used() -> None:
    error = Diagnostic("a.cc", 5, 1, "error", PRIVATE, required_at=(Place("a.cc", 40),))
    assert TRIAL.fate([Sighting(error, "a.cc", None, (Place("a.cc", 5),))], fresh=True) is Fate.KEPT


def test_places_move_with_the_lines() -> None:
    assert TRIAL.moved("a.cc", 3, 1) == Trial(
        "Widget", False, Place("a.cc", 4), (Place("a.cc", 21),), "widget.h", frozenset({OLD})
    )
    assert TRIAL.moved("a.cc", 21, 1) == TRIAL.moved("b.cc", 1, 1) == TRIAL
