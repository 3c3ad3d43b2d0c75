import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from cpubisect.records import artifacts as module
from cpubisect.records.artifacts import Artifacts, content_digest


def output(folder: Path, text: str) -> Path:
    folder.mkdir(parents=True)
    (folder / "db_bench").write_text(text)
    (folder / "db_bench").chmod(0o755)
    return folder


def test_equal_builds_share_one_artifact(tmp_path: Path) -> None:
    artifacts = Artifacts(tmp_path / "artifacts")
    first = artifacts.put(output(tmp_path / "a", "binary"))
    second = artifacts.put(output(tmp_path / "b", "binary"))
    other = artifacts.put(output(tmp_path / "c", "another"))
    assert first == second != other
    assert not (tmp_path / "a").exists()
    assert not (tmp_path / "b").exists()
    found = artifacts.path(first)
    assert found is not None
    assert (found / "db_bench").read_text() == "binary"
    assert len(artifacts.all()) == 2


def test_names_and_modes_are_content(tmp_path: Path) -> None:
    plain = output(tmp_path / "a", "x")
    renamed = output(tmp_path / "b", "x")
    (renamed / "db_bench").rename(renamed / "other")
    locked = output(tmp_path / "c", "x")
    (locked / "db_bench").chmod(0o644)
    assert len({content_digest(plain), content_digest(renamed), content_digest(locked)}) == 3


def test_prune_removes_the_least_recently_used_but_keeps_what_is_needed(tmp_path: Path) -> None:
    artifacts = Artifacts(tmp_path / "artifacts")
    digests = [artifacts.put(output(tmp_path / name, name * 1000)) for name in "abc"]
    for age, digest in enumerate(digests):
        path = artifacts.path(digest)
        assert path is not None
        os.utime(path, (1000 + age, 1000 + age))
    removed = artifacts.prune(1500, keep={digests[0]})
    assert [artifact.digest for artifact in removed] == [digests[1], digests[2]]
    assert artifacts.path(digests[0]) is not None
    assert artifacts.path(digests[1]) is None


def test_one_that_another_process_removes_meanwhile_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    artifacts = Artifacts(tmp_path / "artifacts")
    gone, kept = (artifacts.put(output(tmp_path / name, name)) for name in "ab")
    listing = Path.rglob

    def beside_a_prune(path: Path, pattern: str) -> list[Path]:
        found = list(listing(path, pattern))
        if path.name == gone:
            shutil.rmtree(path)
        return found

    monkeypatch.setattr(Path, "rglob", beside_a_prune)
    assert [artifact.digest for artifact in artifacts.all()] == [kept]


def test_a_pruned_artifact_is_missing_not_broken(tmp_path: Path) -> None:
    artifacts = Artifacts(tmp_path / "artifacts")
    digest = artifacts.put(output(tmp_path / "a", "x"))
    artifacts.prune(0)
    assert artifacts.path(digest) is None
    assert artifacts.all() == []


def truncated(program: Path) -> None:
    os.truncate(program, program.stat().st_size // 2)


def replaced_in_place(program: Path) -> None:
    """As long as before, and with its old times."""
    state = program.stat()
    program.write_text("BINARY")
    os.utime(program, ns=(state.st_atime_ns, state.st_mtime_ns))


def moved_away(program: Path) -> None:
    """To where a link leads."""
    program.rename(program.parent.parent.parent / "elsewhere")
    program.symlink_to(program.parent.parent.parent / "elsewhere")


def moved_with_its_folder(program: Path) -> None:
    folder = program.parent
    folder.rename(folder.parent.parent / "elsewhere")
    folder.symlink_to(folder.parent.parent / "elsewhere")


def a_pipe(program: Path) -> None:
    program.unlink()
    os.mkfifo(program)


def beside_another(program: Path) -> None:
    (program.parent / "libc.so.6").write_text("not there before")


def a_file_in_place_of_its_folder(program: Path) -> None:
    shutil.rmtree(program.parent)
    program.parent.write_text("x")


@pytest.mark.parametrize(
    "damage",
    [
        truncated,
        replaced_in_place,
        Path.unlink,
        moved_away,
        moved_with_its_folder,
        a_pipe,
        beside_another,
        a_file_in_place_of_its_folder,
        lambda program: program.chmod(0o644),
    ],
)
def test_what_is_no_longer_what_was_kept_is_not_sound_and_can_be_kept_anew(
    tmp_path: Path, damage: Callable[[Path], object]
) -> None:
    artifacts = Artifacts(tmp_path / "artifacts")
    digest = artifacts.put(output(tmp_path / "a", "binary"))
    found = artifacts.path(digest)
    assert found is not None
    assert artifacts.sound(digest)
    damage(found / "db_bench")
    assert not artifacts.sound(digest)
    assert artifacts.put(output(tmp_path / "b", "binary")) == digest
    assert artifacts.sound(digest)
    assert (found / "db_bench").read_text() == "binary"
    assert not found.is_symlink()


def test_a_damaged_one_is_discarded_with_whatever_lies_there(tmp_path: Path) -> None:
    artifacts = Artifacts(tmp_path / "artifacts")
    digest = artifacts.put(output(tmp_path / "a", "binary"))
    artifacts.discard(digest)
    artifacts.discard(digest)
    assert artifacts.path(digest) is None
    assert not artifacts.sound(digest)
    assert [*(tmp_path / "artifacts").glob("*/*")] == []


def test_what_nobody_wrote_to_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    artifacts = Artifacts(tmp_path / "artifacts")
    digest = artifacts.put(output(tmp_path / "a", "read once"))
    read: list[Path] = []
    real = module.content_digest
    monkeypatch.setattr(module, "content_digest", lambda path: read.append(path) or real(path))
    assert [artifacts.sound(digest) for _ in range(3)] == [True] * 3
    assert len(read) == 1
