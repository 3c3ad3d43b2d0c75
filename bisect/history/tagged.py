"""The other way round than `names`: from commits to the releases that tags say they are."""

from collections.abc import Iterable, Sequence

from cpubisect.base.version import Version
from cpubisect.history.repository import Repository


def by_form(form: str, name: str) -> tuple[str, Version] | None:
    """The version in a name of a tag form, as written and as parsed."""
    before, _, after = form.partition("{version}")
    text = name.removeprefix(before).removesuffix(after)
    if before + text + after != name or not text[:1].isdigit():
        return None
    try:
        return text, Version.parse(text)
    except ValueError:
        return None


def release_tags(repository: Repository, forms: Sequence[str]) -> dict[str, str]:
    """The commits that tags of some forms name, each with its tag.

    Of several on one commit it is that of the first form, a release before a milestone, then the lowest version.
    """
    # Of an annotated tag the second name is the commit's, of any other there is none.
    listing = repository.text(
        "for-each-ref", "--format=%(objectname) %(*objectname) %(refname:strip=2)", "refs/tags"
    ).splitlines()
    rows = (line.split(" ", 2) for line in listing)
    ranked = [
        (place, bool(found[1].suffix), found[1], tag, commit or own)
        for own, commit, tag in rows
        for place, form in enumerate(forms)
        if (found := by_form(form, tag))
    ]
    return _first_of_each((sha, tag) for *_, tag, sha in sorted(ranked))


def _first_of_each(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    found: dict[str, str] = {}
    for sha, tag in pairs:
        found.setdefault(sha, tag)
    return found
