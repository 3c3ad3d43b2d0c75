"""PURE: profiles, call graphs and what objects were made from as the compressed text that the store keeps."""

import json
import zlib
from collections.abc import Mapping
from itertools import accumulate, pairwise

from cpubisect.base.objects import ObjectFile


def pack(profile: Mapping[str, float]) -> bytes:
    """A profile as compressed JSON."""
    return zlib.compress(json.dumps(dict(profile)).encode())


def unpack(blob: bytes) -> dict[str, float]:
    """The inverse of `pack`."""
    profile: dict[str, float] = json.loads(zlib.decompress(blob))
    return profile


def pack_calls(calls: Mapping[tuple[str, str], float]) -> bytes:
    """The edges of a call graph as compressed JSON: of each caller, its callees."""
    callees: dict[str, dict[str, float]] = {}
    for (caller, callee), cost in calls.items():
        callees.setdefault(caller, {})[callee] = cost
    return zlib.compress(json.dumps(callees).encode())


def unpack_calls(blob: bytes) -> dict[tuple[str, str], float]:
    """The inverse of `pack_calls`."""
    callers: dict[str, dict[str, float]] = json.loads(zlib.decompress(blob))
    return {(caller, callee): cost for caller, callees in callers.items() for callee, cost in callees.items()}


def pack_objects(objects: Mapping[str, ObjectFile]) -> bytes:
    """What objects were made from as compressed JSON: all files once, and of each object its name, source and seconds,
    and the distances between the places of its files in that list."""
    files = sorted({file for one in objects.values() for file in one.files})
    places = {file: place for place, file in enumerate(files)}
    rows = [
        [name, one.source, one.seconds, _distances(sorted(places[file] for file in one.files))]
        for name, one in objects.items()
    ]
    return zlib.compress(json.dumps({"files": files, "objects": rows}, separators=(",", ":")).encode())


def unpack_objects(blob: bytes) -> dict[str, ObjectFile]:
    """The inverse of `pack_objects`, each object's files sorted."""
    packed = json.loads(zlib.decompress(blob))
    files: list[str] = packed["files"]
    return {
        name: ObjectFile(source, tuple(files[place] for place in accumulate(distances)), seconds)
        for name, source, seconds, distances in packed["objects"]
    }


def _distances(places: list[int]) -> list[int]:
    return [later - place for place, later in pairwise([0, *places])]
