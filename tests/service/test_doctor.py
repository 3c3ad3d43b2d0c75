"""What the doctor says of this host beyond what every probe needs."""

from pathlib import Path

import pytest

from cpubisect.service import doctor
from cpubisect.workloads.check import Status


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
    (check,) = doctor.diagnose(tmp_path)
    assert check.status is status
    assert check.found.startswith(found)
    assert check.fix.endswith(fix)
    assert bool(check.fix) == bool(why)
