"""What the doctor says of this host beyond what every probe needs."""

from pathlib import Path

import pytest

from cpubisect.builders.recipes.matrix import Matrix
from cpubisect.service import doctor
from cpubisect.workloads.check import Check, Status


@pytest.mark.parametrize(
    ("why", "status", "found", "fix"),
    [
        ("", Status.OK, "code layout can be told", ""),
        ("lld is not installed: apt-get install lld", Status.WARN, "lld is not installed; needed", "install -y lld"),
        (
            "lld is 'LLD 9.0': lld 13 or later is needed",
            Status.WARN,
            "lld is 'LLD 9.0'; needed",
            "install -y lld",
        ),
    ],
)
def test_links_in_other_orders(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, why: str, status: Status, found: str, fix: str
) -> None:
    monkeypatch.setattr(doctor, "examine", lambda *_: [])
    monkeypatch.setattr(doctor, "why_no_redraws", lambda: why)
    *_, check = doctor.diagnose(tmp_path)
    assert check.status is status
    assert check.found.startswith(found)
    assert check.fix.endswith(fix)
    assert bool(check.fix) == bool(why)


def test_files_of_libraries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "examine", lambda *_: [])
    files = Matrix.load().libraries(Matrix.load().engine("mysql"))[0].files
    shelf = tmp_path / "libraries"

    def boost() -> Check:
        return next(check for check in doctor.diagnose(tmp_path) if check.name == "boost")

    check = boost()
    assert check.status is Status.WARN
    assert check.found.startswith(f"0 of {len(files)} releases are in {shelf}; the others are fetched when")
    assert check.found.endswith("but for boost_1_65_0, of which no digest is known")
    assert check.fix.startswith(
        f"without network, put into {shelf}: boost_1_55_0.tar.gz from https://archives.boost.io"
    )
    shelf.mkdir()
    for name in list(files)[:-1]:
        (shelf / f"{name}.tar.gz").write_bytes(b"")
    check = boost()
    assert check.fix.count("https://") == 1
    assert "no digest" not in check.found
    (shelf / f"{list(files)[-1]}.tar.gz").write_bytes(b"")
    assert (boost().status, boost().fix) == (Status.OK, "")
