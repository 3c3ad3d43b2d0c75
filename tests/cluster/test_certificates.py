"""The folders by which hosts know each other."""

import ssl
from pathlib import Path

import pytest

from cpubisect.base.errors import UserError
from cpubisect.base.home import Home
from cpubisect.cluster.certificates import AUTHORITY, Pair, make

pytest.importorskip("cryptography")


def shaken(server: Pair, client: Pair) -> None:
    """A handshake between two hosts, in memory; raises SSLError where one does not know the other."""
    listens = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=str(server.authority))
    listens.load_cert_chain(server.certificate, server.key)
    listens.verify_mode = ssl.CERT_REQUIRED
    asks = ssl.create_default_context(cafile=str(client.authority))
    asks.check_hostname = False
    asks.load_cert_chain(client.certificate, client.key)
    there, back = ssl.MemoryBIO(), ssl.MemoryBIO()
    ends = [listens.wrap_bio(there, back, server_side=True), asks.wrap_bio(back, there)]
    for _ in range(10):
        for end in list(ends):
            try:
                end.do_handshake()
                ends.remove(end)
            except ssl.SSLWantReadError:
                continue
    assert not ends


def test_hosts_of_one_authority_know_each_other_and_no_others(tmp_path: Path) -> None:
    home = Home(tmp_path)
    assert make(tmp_path / "one", ["head", "db7"]) == [tmp_path / "one/head", tmp_path / "one/db7"]
    make(tmp_path / "two", ["head"])
    head, db7 = (Pair.of(tmp_path / "one" / name, home) for name in ("head", "db7"))
    stranger = Pair.of(tmp_path / "two" / "head", home)
    shaken(head, db7)
    with pytest.raises(ssl.SSLError):
        shaken(head, stranger)


def test_a_host_can_be_added_later_and_nothing_is_written_over(tmp_path: Path) -> None:
    make(tmp_path, ["head"])
    before = {path: path.read_bytes() for path in tmp_path.rglob("*.*")}
    assert make(tmp_path, ["head", "b9"]) == [tmp_path / "b9"]
    assert {path: path.read_bytes() for path in before} == before
    home = Home(tmp_path)
    shaken(Pair.of(tmp_path / "head", home), Pair.of(tmp_path / "b9", home))


def test_keys_are_for_their_owner_alone(tmp_path: Path) -> None:
    make(tmp_path, ["head"])
    for path in tmp_path.rglob("*"):
        assert path.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("name", ["", "../x", "a/b", "-x", AUTHORITY, "a b", "x" * 300])
def test_what_is_no_name_of_a_host(tmp_path: Path, name: str) -> None:
    with pytest.raises(UserError, match="is not the name of a host"):
        make(tmp_path, ["head", name])
    assert not list(tmp_path.iterdir())


def test_an_authority_without_its_key_signs_nothing(tmp_path: Path) -> None:
    make(tmp_path, ["head"])
    (tmp_path / AUTHORITY / "authority.key").unlink()
    with pytest.raises(UserError, match="what signs cannot be read"):
        make(tmp_path, ["b1"])


@pytest.mark.parametrize(
    ("spoil", "why"),
    [
        (lambda place: (place / "host.key").unlink(), "there is no certificate"),
        (lambda place: (place / "host.key").write_text("no key"), "cannot be used"),
        (lambda place: (place / "authority.pem").write_text(""), "cannot be used"),
    ],
)
def test_files_that_tls_cannot_use_are_refused_before_anything_listens(tmp_path: Path, spoil: object, why: str) -> None:
    make(tmp_path, ["head"])
    spoil(tmp_path / "head")  # type: ignore[operator]
    with pytest.raises(UserError, match=why) as caught:
        Pair.of(tmp_path / "head", Home(tmp_path))
    assert caught.value.hint
