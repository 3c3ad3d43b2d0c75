"""From a request to a queued bisection, with the validation of the command line."""

import os
from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from cpubisect.base.errors import UserError
from cpubisect.base.flags import Flags
from cpubisect.base.metrics import Counter, Simulation
from cpubisect.records.registry import Registry
from cpubisect.search.events import Event
from cpubisect.search.question import Find, MetricChoice
from cpubisect.web.models import Request, Started
from cpubisect.web.service.catalog import Source
from cpubisect.web.service.clones import Clones

A = TypeVar("A", bound=BaseModel)


def start(registry: Registry, sources: Mapping[str, Source], clones: Clones, request: Request) -> Started:
    """Check everything and queue the bisection; raises UserError with the next step."""
    # What builds and measures is loaded when something is started: showing needs none of it.
    from cpubisect.service.ask import Ask, ask
    from cpubisect.service.executors import executor_at
    from cpubisect.service.launch import begin

    check_without_paths(request.settings)
    source = cloned(sources, clones, request.repository)
    asked = Ask(
        good=request.good,
        bad=request.bad,
        tests=tuple(request.tests),
        repo=source.where,
        engine=source.engine or None,
        metric=MetricChoice(request.metric),
        find=Find(request.find),
        given=request.settings,
        min_step=request.min_step,
        toolchain=request.toolchain or None,
        matrix=None,
        jobs=os.cpu_count() or 1,
        counter=Counter(request.counter) if request.counter else None,
        simulations=tuple(one for one in Simulation if one in request.simulations),
        first=request.first,
        flags=Flags(request.flags),
        both_sides=request.both_sides,
        screen=request.screen,
    )
    with executor_at(registry.home) as executor:
        question = ask(registry.home, asked, silent, executor)
        return Started(id=begin(registry, question, queued=True, executor=executor), state="queued")


def cloned(sources: Mapping[str, Source], clones: Clones, name: str) -> Source:
    """The repository of a name, whose clone is here; raises UserError if there is none, or while it is being cloned."""
    if name not in sources:
        raise UserError(f"there is no repository {name!r} here", f"choose {', '.join(sources)}")
    clones.need(sources[name])
    return sources[name]


def check_without_paths(settings: Mapping[str, str]) -> None:
    """Raises UserError if a setting names a path: whoever can open the page could have it read or written."""
    for name, value in settings.items():
        if "/" in value or "\\" in value:
            raise UserError(f"{name}: a path can only be given on the command line", "use `bisect` for that")


def settings_of(text: str) -> dict[str, str]:
    """NAME=VALUE, one on each line; raises UserError for anything else."""
    settings = {}
    for line in text.splitlines():
        if line.strip():
            name, equals, value = line.strip().partition("=")
            if not equals:
                raise UserError(f"settings: {line.strip()!r} is not NAME=VALUE", "write one setting on each line")
            settings[name.strip()] = value.strip()
    return settings


def from_form(form: Mapping[str, str], tests: list[str]) -> Request:
    """The request of a submitted form; raises UserError naming the first field that is wrong."""
    settings = settings_of(form.get("settings", ""))
    fields: dict[str, Any] = {name: form.get(name, "") for name in ("repository", "good", "bad")}
    fields |= {"metric": form.get("metric") or "auto", "find": form.get("find") or "regression"}
    fields["flags"] = form.get("flags") or "pinned"
    fields |= {name: form.get(name) or None for name in ("toolchain", "counter")}
    fields |= {"tests": tests, "settings": settings, "simulations": [one for one in Simulation if form.get(one)]}
    fields |= {name: bool(form.get(name)) for name in ("first", "both_sides", "screen")}
    try:
        fields["min_step"] = float(form["min_step"]) if form.get("min_step", "").strip() else None
    except ValueError:
        raise UserError(f"min_step: {form['min_step']!r} is not a number", "give percent, or leave it empty") from None
    return checked(fields, Request)


def checked(fields: object, model: type[A]) -> A:
    """The request in plain data; raises UserError naming the first field that is wrong."""
    try:
        return model.model_validate(fields)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "the request"
        raise UserError(f"{where}: {first['msg']}", "see /api/openapi.json for what is expected") from None


def silent(event: Event) -> None:
    """Nobody watches the checks of a form: what goes wrong is raised."""
