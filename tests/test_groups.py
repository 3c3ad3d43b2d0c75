"""Tests of a group run in one process, so that what they share is made once."""

import os

import pytest


@pytest.mark.xdist_group("groups")
@pytest.mark.skipif("PYTEST_XDIST_WORKER" not in os.environ, reason="one process runs everything")
def test_a_group_reaches_whoever_deals_out_the_tests(request: pytest.FixtureRequest) -> None:
    assert request.node.nodeid.endswith("@groups")
