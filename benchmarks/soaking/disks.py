"""Small file systems that can be filled to the last byte."""

import subprocess
from pathlib import Path


class Skipped(Exception):
    """This host cannot have a fault; says why."""


def mount(place: Path, size: str) -> None:
    """Make a directory a file system of its own, of a size as `mount` takes it; raises Skipped where only root may."""
    place.mkdir(parents=True, exist_ok=True)
    words = ["mount", "-t", "tmpfs", "-o", f"size={size},mode=755", "soak", str(place)]
    try:
        done = subprocess.run(words, capture_output=True, text=True)
    except OSError as error:
        raise Skipped(f"a small file system cannot be mounted here ({error.strerror})") from error
    if done.returncode:
        raise Skipped(f"a small file system cannot be mounted here ({done.stderr.strip()})")


def unmount(place: Path) -> None:
    """The inverse, if it is one."""
    if place.is_mount():
        subprocess.run(["umount", str(place)], check=True, capture_output=True)


def fill(ballast: Path, left: int = 0) -> None:
    """Write a file until the disk is full, or has so many bytes left."""
    piece = b"\0" * (1 << 20)
    try:
        with ballast.open("wb", buffering=0) as file:
            while piece:
                if not file.write(piece):
                    piece = piece[: len(piece) // 2]
    except OSError:
        pass
    with ballast.open("r+b") as file:
        file.truncate(max(0, ballast.stat().st_size - left))
