"""A commit that was named, with all that a bug report needs."""

import shlex

from cpubisect.errors import Missing
from cpubisect.question import Question
from cpubisect.report import asked
from cpubisect.report_words import reproduce
from cpubisect.session import Session
from cpubisect.verdict import of_test
from cpubisect.web.build_view import builds_of
from cpubisect.web.models import CulpritView, End


def culprit_view(session: Session, bisection: int, sha: str, wanted: str | None = None) -> CulpritView:
    """A culprit of a bisection, in the wanted test or the first that names it; raises Missing if none does."""
    row = session.store.bisection(bisection)
    question = Question.from_json(row.question)
    tests = [wanted] if wanted in question.tests else question.tests
    for test in tests:
        for culprit in of_test(row.verdict, test).get("culprits", ()):
            if culprit["sha"] == sha:
                return CulpritView(
                    bisection=bisection,
                    state=session.state(row.id, row.state),
                    engine=row.engine,
                    test=test,
                    good=End(name=question.good, sha=question.good_sha),
                    bad=End(name=question.bad, sha=question.bad_sha),
                    culprit=culprit,
                    builds=builds_of(session, bisection, (culprit["parent"], sha)),
                    host=row.host,
                    reproduce=shlex.join(reproduce(asked(row))),
                )
    raise Missing(f"bisection {bisection} named no culprit {sha[:12]}", f"`bisect report {bisection}` shows its answer")
