"""What a host tells a cluster of itself, and what it must have before it offers anything."""

import shutil
from pathlib import Path

import pytest

from cpubisect.base.errors import UserError
from cpubisect.base.home import Home
from cpubisect.base.metrics import COUNTERS
from cpubisect.builders.recipes.toolchain import installed_toolchains
from cpubisect.cluster.hosts import Role
from cpubisect.cluster.program import program
from cpubisect.service.hosting import findings, own_host
from cpubisect.workloads.check import Status


def programs(place: Path, *names: str) -> str:
    """A search path with some programs of this host."""
    place.mkdir()
    for name in names:
        (place / name).symlink_to(shutil.which(name) or "/nowhere")
    return str(place)


def test_a_builder_tells_its_compilers_and_a_probe_host_its_counters(home: Path) -> None:
    opened = Home.open()
    (opened.libraries / "boost_1_59_0.tar.gz").touch()
    builder = own_host(Role.BUILD, 3, "b1", opened)
    assert (builder.name, builder.slots, builder.program) == ("b1", 3, program())
    assert builder.toolchains == tuple(installed_toolchains())
    assert builder.libraries == ("boost_1_59_0",)
    assert builder.counters == {}
    prober = own_host(Role.PROBE, 1, None, opened)
    assert prober.name
    assert prober.toolchains == ()
    assert set(prober.counters) == {counter.value for counter in COUNTERS}
    assert prober.fingerprint == builder.fingerprint


@pytest.mark.parametrize(
    ("there", "why"),
    [
        (["git", "gcc-12", "g++-12"], "ccache is not installed"),
        (["ccache"], "git cannot be run"),
        (["ccache", "git"], "there is no compiler here"),
    ],
)
def test_a_builder_without_what_every_build_needs_is_refused(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, there: list[str], why: str
) -> None:
    opened = Home.open()
    monkeypatch.setenv("PATH", programs(tmp_path / "bin", *there))
    with pytest.raises(UserError, match=why) as caught:
        own_host(Role.BUILD, 1, "b1", opened)
    assert caught.value.hint


def test_a_probe_host_makes_one_probe_at_a_time(home: Path) -> None:
    with pytest.raises(UserError, match="one probe at a time, not 2"):
        own_host(Role.PROBE, 2, "p1", Home.open())


@pytest.mark.parametrize("role", list(Role))
def test_only_what_is_not_as_it_should_be_is_told(home: Path, role: Role) -> None:
    assert all(check.status is not Status.OK for check in findings(role, Home.open()))


def test_the_digest_of_the_program_is_of_its_sources() -> None:
    assert len(program()) == 12
    assert program() == program()
