"""What is sent between hosts arrives as it was, or is known not to have."""

import gzip
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cpubisect.base.errors import UserError
from cpubisect.cluster.parcels import Carrier, Damaged, Parcel, packed, unpacked
from cpubisect.records.artifacts import content_digest

pytest.importorskip("fsspec")


@pytest.fixture(params=["message", "folder"])
def carrier(request: pytest.FixtureRequest, tmp_path: Path) -> Carrier:
    return Carrier("" if request.param == "message" else f"file://{tmp_path / 'shared'}")


def artifact(place: Path) -> tuple[Path, str]:
    made = place / "made"
    (made / "lib").mkdir(parents=True)
    (made / "db_bench").write_bytes(bytes(range(256)) * 99)
    (made / "db_bench").chmod(0o755)
    (made / "lib" / "empty").touch()
    (made / "link").symlink_to("db_bench")
    return made, content_digest(made)


def test_a_build_arrives_whole(tmp_path: Path, carrier: Carrier) -> None:
    made, digest = artifact(tmp_path)
    sent = carrier.send(packed(made))
    assert (sent.content is None) == bool(carrier.url)
    assert carrier.send(packed(made)) == sent
    unpacked(carrier.fetch(sent), tmp_path / "there", digest)
    assert content_digest(tmp_path / "there") == digest


def test_what_is_damaged_at_the_address_is_removed_from_it(tmp_path: Path) -> None:
    carrier = Carrier(f"file://{tmp_path}")
    sent = carrier.send(b"what was built")
    (file,) = tmp_path.glob("??/*")
    file.write_bytes(b"what was BUILT")
    with pytest.raises(Damaged, match="is not what was sent"):
        carrier.fetch(sent)
    with pytest.raises(Damaged, match="is not at file://"):
        carrier.fetch(sent)
    assert carrier.fetch(carrier.send(b"what was built")) == b"what was built"


@given(st.binary(max_size=40), st.binary(max_size=40))
def test_other_bytes_are_not_taken(sent: bytes, came: bytes) -> None:
    parcel = Carrier().send(sent)
    if came == sent:
        assert Carrier().fetch(Parcel(parcel.sha256, came)) == sent
    else:
        with pytest.raises(Damaged):
            Carrier().fetch(Parcel(parcel.sha256, came))


@pytest.mark.parametrize("how", ["cut", "other", "nothing", "text"])
def test_a_build_that_is_another_one_is_not_taken(tmp_path: Path, how: str) -> None:
    made, digest = artifact(tmp_path)
    content = packed(made)
    (made / "db_bench").write_bytes(b"other")
    spoilt = {"cut": content[: len(content) // 2], "other": packed(made), "nothing": b"", "text": gzip.compress(b"?")}
    with pytest.raises(Damaged):
        unpacked(spoilt[how], tmp_path / "there", digest)


@pytest.mark.parametrize("url", ["nonsense://x", "file:///proc/no/such", "s3"])
def test_an_address_that_cannot_be_written_is_refused_at_once(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir("/proc")
    with pytest.raises(UserError, match="nothing can be kept at"):
        Carrier(url).check()
    Carrier().check()
    Carrier(f"file://{tmp_path}/new").check()
