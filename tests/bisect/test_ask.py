"""From what was typed to a question, where that needs the network: here a repository next door."""

import shutil
from pathlib import Path

from repositories import git
from small_bisections import cost, history, tree

from cpubisect.ask import Ask, ask
from cpubisect.paths import Home
from cpubisect.question import Find, MetricChoice


def test_a_branch_is_taken_as_it_is_today_or_as_it_was_if_nothing_can_be_fetched(home: Path, tmp_path: Path) -> None:
    origin = tmp_path / "origin"
    shas = history(tree(1000), cost(1100)).write(origin)
    told: list[str] = []

    def asked() -> str:
        words = (shas[1], "main", ("readrandom",), origin.as_uri(), "minikv", MetricChoice.AUTO, Find.REGRESSION)
        question = ask(
            Home.open(), Ask(*words, {}, None, None, None, 2), lambda kind, **data: told.append(data["text"])
        )
        return question.bad_sha

    assert asked() == shas[2]
    who = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
    git(origin, *who, "commit", "--quiet", "--allow-empty", "--message", "Go on")
    newest = git(origin, "rev-parse", "main")
    assert asked() == newest
    shutil.rmtree(origin)
    assert asked() == newest
    assert "branches are taken as they were when they were fetched last" in told[-1]
