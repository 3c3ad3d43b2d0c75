"""PURE: profiles and call graphs as the compressed text that the store keeps."""

import json
import zlib
from collections.abc import Mapping


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
