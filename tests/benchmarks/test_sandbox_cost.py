"""The table of what the sandbox costs takes its own place in the document, and no other's."""

import pytest
import sandbox

PART = "### kv 1, scan\n\n| new |\n"


@pytest.mark.parametrize(
    ("document", "after"),
    [
        ("# Head\n", f"# Head\n\n{PART}"),
        ("# Head\n\n### kv 1, scan\n\n| old |\n", f"# Head\n\n{PART}"),
        ("# Head\n\n### kv 1, scan\n\n| old |\n\n### kv 2, scan\n\n| kept |\n", None),
    ],
)
def test_a_table_is_put_under_its_heading(document: str, after: str | None) -> None:
    found = sandbox.written(document, PART)
    assert found.count("### kv 1, scan") == 1
    assert "| old |" not in found
    assert after is None or found == after
    assert ("| kept |" in document) == ("| kept |" in found)
    assert sandbox.written(found, PART) == found


def test_what_cannot_be_measured_is_one_line(capsys: pytest.CaptureFixture[str], tmp_path) -> None:  # type: ignore[no-untyped-def]
    assert sandbox.main(["--repo", str(tmp_path)]) == 2
    assert capsys.readouterr().err.startswith("sandbox: ")
