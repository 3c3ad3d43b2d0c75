"""Which host will do for an order, and what is said where none will."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cpubisect.builders.build import Toolchain
from cpubisect.cluster.hosts import (
    Host,
    Need,
    Role,
    least_asked,
    left_over,
    likeness,
    named,
    of_role,
    refusal,
    shared_toolchains,
    why_not,
)


def gcc(release: str = "gcc-12 (Debian 12.2.0-14) 12.2.0", name: str = "gcc-12") -> Toolchain:
    return Toolchain(name, name, name.replace("gcc", "g++"), "ar", "ranlib", release)


NEWER = gcc("gcc-12 (Debian 12.2.0-15) 12.2.0")
BUILDER = Host("b1", Role.BUILD, 2, "p", (gcc(),), {"cpu": "A", "memory_mib": 9})
PROBER = Host("p1", Role.PROBE, 1, "p", (), {"cpu": "A", "memory_mib": 9}, counters={"callgrind": ""})
BUILD = Need(Role.BUILD, "p", toolchain=gcc())
PROBE = Need(Role.PROBE, "p")


@pytest.mark.parametrize(
    ("host", "need", "why"),
    [
        (BUILDER, BUILD, ""),
        (replace(BUILDER, toolchains=(NEWER,)), BUILD, "b1 has 'gcc-12 (Debian 12.2.0-15) 12.2.0', not 'gcc-12"),
        (replace(BUILDER, toolchains=()), BUILD, "b1 has no gcc-12"),
        (replace(BUILDER, toolchains=(replace(gcc(), ar="gcc-ar"),)), BUILD, "b1 has"),
        (replace(BUILDER, program="q"), BUILD, "b1 runs another cpubisect"),
        (replace(BUILDER, no_sandbox="no bwrap"), BUILD, ""),
        (replace(BUILDER, no_sandbox="no bwrap"), replace(BUILD, sandbox=True), "b1 has no sandbox (no bwrap)"),
        (replace(BUILDER, no_redraws="lld is old: x"), replace(BUILD, redraws=True), "b1 cannot link in other orders"),
        (PROBER, PROBE, ""),
        (PROBER, replace(PROBE, like=PROBER.likeness), ""),
        (PROBER, replace(PROBE, like="other"), "p1 is another kind of host"),
    ],
)
def test_what_a_host_lacks(host: Host, need: Need, why: str) -> None:
    assert why_not(host, need).startswith(why)
    assert bool(why_not(host, need)) == bool(why)
    assert bool(refusal([host], need)) == bool(why)


@pytest.mark.parametrize(
    ("hosts", "need", "why"),
    [
        ([], BUILD, "no host is there to build"),
        ([PROBER], BUILD, "no host is there to build"),
        ([BUILDER], PROBE, "no host is there to probe"),
        ([BUILDER, PROBER], replace(PROBE, host="p2"), "p2, which is to probe, is not there"),
        ([PROBER, replace(PROBER, name="p2")], replace(PROBE, host="p2"), ""),
        ([replace(BUILDER, toolchains=(NEWER,)), BUILDER], BUILD, ""),
        (
            [replace(BUILDER, toolchains=()), replace(BUILDER, name="b2", program="q")],
            BUILD,
            "b1 has no gcc-12; b2 runs another cpubisect (q, not p)",
        ),
    ],
)
def test_why_no_host_will_do(hosts: list[Host], need: Need, why: str) -> None:
    assert refusal(hosts, need) == why


SLOTS = (replace(BUILDER, slots=4), replace(BUILDER, name="b2", slots=2))


@pytest.mark.parametrize(
    ("orders", "own", "left"),
    [((0, 0), 0, 6), ((3, 2), 5, 6), ((3, 2), 1, 2), ((9, 9), 2, 0), ((1, 0), 3, 6)],
)
def test_a_bisection_reckons_with_what_others_have_not_ordered(orders: tuple[int, int], own: int, left: int) -> None:
    assert left_over(zip(SLOTS, orders, strict=True), own) == left


def test_the_hosts_with_the_fewest_orders_are_told() -> None:
    probing = [replace(PROBER, name=name) for name in ("p1", "p2", "p3")]
    assert least_asked(zip(probing, (1, 0, 0), strict=True)) == probing[1:]
    assert least_asked([]) == []


FLAGS = st.booleans()
HOSTS = st.builds(
    Host,
    name=st.sampled_from(["a", "b"]),
    role=st.sampled_from(Role),
    slots=st.integers(1, 9),
    program=st.sampled_from(["p", "q"]),
    toolchains=st.lists(st.sampled_from([gcc(), NEWER, gcc(name="gcc-11")]), unique=True).map(tuple),
    fingerprint=st.fixed_dictionaries({"cpu": st.sampled_from(["A", "B"]), "memory_mib": st.integers(1, 9)}),
    no_sandbox=st.sampled_from(["", "why"]),
    no_redraws=st.sampled_from(["", "why"]),
    counters=st.just({"callgrind": ""}),
    libraries=st.just(("boost_1_59_0",)),
)
NEEDS = st.builds(
    Need,
    role=st.sampled_from(Role),
    program=st.sampled_from(["p", "q"]),
    toolchain=st.sampled_from([None, gcc(), NEWER]),
    sandbox=FLAGS,
    redraws=FLAGS,
    host=st.sampled_from(["", "a", "c"]),
    like=st.sampled_from(["", likeness({"cpu": "A"}), likeness({"cpu": "B"})]),
)


@given(HOSTS, NEEDS)
def test_dask_finds_just_those_hosts_that_will_do(host: Host, need: Need) -> None:
    """What is asked of Dask as resources, and what is told to people, must not differ."""
    have = host.resources()
    finds = all(have.get(name, 0.0) >= count for name, count in need.resources().items())
    # Only probe hosts are told by what they are like.
    if need.like and host.role is Role.BUILD and need.role is Role.BUILD:
        assert not finds
    else:
        assert finds == (refusal([host], need) == "")


@given(HOSTS)
def test_a_host_arrives_as_it_was_sent(host: Host) -> None:
    assert Host.from_json(host.to_json()) == host
    assert likeness(named(host)) == host.likeness


def test_what_another_program_says_is_no_host() -> None:
    for text in ("", "[]", "{}", '{"toolchains": [], "role": "cook", "libraries": []}'):
        with pytest.raises((ValueError, TypeError, KeyError, AttributeError)):
            Host.from_json(text)


def test_memory_does_not_make_a_host_another_one() -> None:
    assert likeness({"cpu": "A", "memory_mib": 1}) == likeness({"cpu": "A", "memory_mib": 2, "name": "x"})
    assert likeness({"cpu": "A"}) != likeness({"cpu": "B"})


def test_of_two_releases_of_a_compiler_that_counts_which_makes_most_builds() -> None:
    other = replace(BUILDER, name="b2", slots=3, toolchains=(NEWER, gcc(name="gcc-11")))
    assert shared_toolchains([BUILDER, other]) == (NEWER, gcc(name="gcc-11"))
    assert shared_toolchains([replace(BUILDER, slots=4), other])[0] == gcc()
    assert of_role([BUILDER, PROBER, replace(BUILDER, program="q")], Role.BUILD, "p") == [BUILDER]
