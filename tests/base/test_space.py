"""What is known of a disk without space."""

import errno
from pathlib import Path

import pytest

from cpubisect.base.disk.space import is_full, is_scarce
from cpubisect.base.errors import UserError


def caused(error: Exception, by: Exception) -> Exception:
    error.__cause__ = by
    return error


@pytest.mark.parametrize(
    ("error", "full"),
    [
        (None, False),
        (OSError(errno.ENOSPC, "no space"), True),
        (OSError(errno.EDQUOT, "too much"), True),
        (OSError(errno.EACCES, "not yours"), False),
        (UserError("git: write error: No space left on device"), True),
        (caused(UserError("cannot write to /home"), OSError(errno.ENOSPC, "no space")), True),
        (caused(UserError("cannot write to /home"), OSError(errno.EROFS, "read only")), False),
    ],
)
def test_an_error_says_that_a_disk_is_full_itself_or_by_its_cause(error: Exception | None, full: bool) -> None:
    assert is_full(error) is full


def test_what_can_be_written_to_has_space(tmp_path: Path) -> None:
    assert not is_scarce(tmp_path)
    assert is_scarce(Path("/proc")), "a file system without any"
