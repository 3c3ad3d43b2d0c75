"""PURE: frozen dataclasses as plain data, the form in which they are stored and sent, and back."""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import lru_cache, partial
from types import NoneType, UnionType
from typing import Any, Self, Union, get_args, get_origin, get_type_hints


class Plain:
    """A dataclass that has a form as plain data, as have all dataclasses among its fields."""

    def to_json(self) -> dict[str, Any]:
        """Its fields by name; an infinite figure, which JSON does not know, becomes None."""
        return {own.name: plain(getattr(self, own.name)) for own in fields(self)}  # type: ignore[arg-type]

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """The inverse of `to_json`: what the data lacks has its default, what is unknown is left out, and None where
        there must be a figure is infinite. Raises TypeError if it lacks what has no default."""
        own: type = cls
        return cls(**{name: read(data[name]) for name, read in _readers(own) if name in data})


def plain(value: Any) -> Any:
    """A dataclass, or anything made of them, as plain data."""
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {name: plain(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [plain(part) for part in value]
    if is_dataclass(value):
        return {own.name: plain(getattr(value, own.name)) for own in fields(value)}
    return value


_Reader = Callable[[Any], Any]


@lru_cache(maxsize=256)
def _readers(of: type) -> tuple[tuple[str, _Reader], ...]:
    """How each field of a dataclass is read."""
    hints = get_type_hints(of)
    return tuple((own.name, _reader(hints[own.name])) for own in fields(of))


def _reader(hint: Any) -> _Reader:
    origin, parts = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        known = [part for part in parts if part is not NoneType]
        return partial(_unless_none, _reader(known[0])) if len(known) == 1 else _as_it_is
    if origin is tuple:
        return partial(_each, _reader(parts[0]))
    if origin is Mapping:
        return partial(_each_named, _reader(parts[1]))
    if hint is float:
        return _figure
    if isinstance(hint, type) and issubclass(hint, Plain):
        return hint.from_json
    return hint if isinstance(hint, type) and issubclass(hint, Enum) else _as_it_is


def _as_it_is(value: Any) -> Any:
    return value


def _figure(value: Any) -> Any:
    return math.inf if value is None else value


def _unless_none(read: _Reader, value: Any) -> Any:
    return None if value is None else read(value)


def _each(read: _Reader, values: Iterable[Any]) -> tuple[Any, ...]:
    return tuple(map(read, values))


def _each_named(read: _Reader, values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: read(value) for name, value in values.items()}
