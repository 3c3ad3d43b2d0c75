"""What is an address of a head, and that nothing leaves this host unencrypted."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cpubisect.base.errors import UserError
from cpubisect.cluster.address import PORT, Address, is_loopback, listening


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("tls://head:8786", Address("head", 8786, True)),
        ("tls://10.0.0.7", Address("10.0.0.7", PORT, True)),
        ("tls://[fd00::1]:99/", Address("fd00::1", 99, True)),
        ("tcp://127.0.0.1:1234", Address("127.0.0.1", 1234, False)),
        ("tcp://localhost", Address("localhost", PORT, False)),
        ("tcp://[::1]:5", Address("::1", 5, False)),
    ],
)
def test_addresses(text: str, meant: Address) -> None:
    assert Address.read(text) == meant
    assert Address.read(str(meant)) == meant


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "is not the address"),
        ("head:8786", "is not the address"),
        ("http://head", "is not the address"),
        ("tls://", "is not the address"),
        ("tls://me@head", "is not the address"),
        ("tls://head:port", "is not the address"),
        ("tls://head:0", "no port 0"),
        ("tls://head:70000", "no port 70000"),
        ("tcp://head:8786", "not encrypted"),
        ("tcp://10.0.0.7", "not encrypted"),
        ("tcp://0.0.0.0", "not encrypted"),
        ("tcp://127.0.0.1.example.org", "not encrypted"),
    ],
)
def test_what_is_none(text: str, why: str) -> None:
    with pytest.raises(UserError, match=why) as caught:
        Address.read(text)
    assert caught.value.hint


@given(st.text())
def test_whatever_is_typed_is_read_or_refused_and_never_leaves_the_host_unencrypted(text: str) -> None:
    try:
        address = Address.read(text)
    except UserError:
        return
    assert address.encrypted or is_loopback(address.host)


@pytest.mark.parametrize(
    ("host", "encrypted", "found"),
    [(None, True, "0.0.0.0"), (None, False, "127.0.0.1"), ("10.0.0.7", True, "10.0.0.7"), ("::1", False, "::1")],
)
def test_where_a_host_listens(host: str | None, encrypted: bool, found: str) -> None:
    assert listening(host, encrypted=encrypted) == found


@pytest.mark.parametrize("host", ["0.0.0.0", "10.0.0.7", "db7", "::", ""])
def test_nothing_listens_for_others_without_certificates(host: str) -> None:
    with pytest.raises(UserError, match="without certificates nothing listens"):
        listening(host, encrypted=False)
