"""A commit that was named, with all that a bug report needs."""

import shlex

from cpubisect.base.errors import Missing
from cpubisect.records.registry import Registry
from cpubisect.report.words import reproduce
from cpubisect.views.gather import asked
from cpubisect.web.models import CulpritView
from cpubisect.web.views.build import builds_of


def culprit_view(registry: Registry, bisection: int, sha: str, wanted: str | None = None) -> CulpritView:
    """A culprit of a bisection, in the wanted test or the first that names it; raises Missing if none does."""
    row = registry.store.bisection(bisection)
    known = asked(registry, row)
    verdicts = row.verdict.tests if row.verdict else {}
    for test in [wanted] if wanted in known.tests else known.tests:
        for culprit in verdicts[test].culprits if test in verdicts else ():
            if culprit.sha == sha:
                return CulpritView(
                    bisection=bisection,
                    state=known.state,
                    engine=known.engine,
                    test=test,
                    good=known.good,
                    bad=known.bad,
                    culprit=culprit,
                    counted=known.metric.counted,
                    builds=builds_of(registry, bisection, (culprit.parent, sha)),
                    host=row.host,
                    reproduce=shlex.join(reproduce(known)),
                )
    raise Missing(f"bisection {bisection} named no culprit {sha[:12]}", f"`bisect report {bisection}` shows its answer")
