"""From a request to a queued comparison, with the validation of the command line."""

import os
from collections.abc import Mapping
from typing import Any

from cpubisect.base.errors import UserError
from cpubisect.base.flags import Flags
from cpubisect.base.metrics import Counter
from cpubisect.records.comparisons import Comparisons
from cpubisect.search.comparing.question import numbers_of_clients
from cpubisect.web.models import ComparisonRequest, Started
from cpubisect.web.service.catalog import Source
from cpubisect.web.service.clones import Clones
from cpubisect.web.service.starting import check_without_paths, checked, cloned, settings_of, silent


def start_comparison(
    comparisons: Comparisons, sources: Mapping[str, Source], clones: Clones, request: ComparisonRequest
) -> Started:
    """Check everything and queue the comparison; raises UserError with the next step."""
    # What builds and measures is loaded when something is started: showing needs none of it.
    from cpubisect.service.compare import Compare, begin, check
    from cpubisect.service.executors import executor_at

    check_without_paths(request.settings)
    source = cloned(sources, clones, request.repository)
    wanted = Compare(
        versions=tuple(request.versions),
        tests=tuple(request.tests),
        groups=tuple(request.groups),
        clients=tuple(request.clients),
        repo=source.where,
        engine=source.engine or None,
        given=request.settings,
        rounds=request.rounds,
        toolchain=request.toolchain or None,
        jobs=os.cpu_count() or 1,
        counter=Counter(request.counter) if request.counter else None,
        flags=Flags(request.flags),
    )
    with executor_at(comparisons.home) as executor:
        asked = check(comparisons, wanted, silent, executor)
        return Started(id=begin(comparisons, asked, queued=True, executor=executor), state="queued")


def comparison_from_form(form: Mapping[str, str], tests: list[str], groups: list[str]) -> ComparisonRequest:
    """The request of a submitted form; raises UserError naming the first field that is wrong."""
    fields: dict[str, Any] = {"repository": form.get("repository", ""), "tests": tests, "groups": groups}
    fields |= {"versions": form.get("versions", "").split(), "settings": settings_of(form.get("settings", ""))}
    fields |= {"flags": form.get("flags") or "pinned"}
    fields |= {name: form.get(name) or None for name in ("toolchain", "counter")}
    try:
        fields |= {"clients": numbers_of_clients(form["clients"])} if form.get("clients", "").strip() else {}
        fields |= {"rounds": int(form["rounds"])} if form.get("rounds", "").strip() else {}
    except ValueError:
        raise UserError("clients and rounds are numbers", "write clients like 1,4") from None
    return checked(fields, ComparisonRequest)
