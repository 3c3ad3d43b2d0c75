"""Chart specifications as pictures, drawn by vl-convert; what was drawn once is kept for a while."""

import hashlib
import json
import re
from functools import lru_cache
from typing import Any
from xml.etree import ElementTree

import vl_convert

Json = dict[str, Any]

SVG, XLINK = "http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"
_KEPT = 64
_DECLARATION = re.compile(r"\s*([a-z-]+)\s*:\s*([^;]+)")
_UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff\ufffe\uffff]")

ElementTree.register_namespace("", SVG)
ElementTree.register_namespace("xlink", XLINK)


def svg(spec: Json) -> str:
    """The chart as an `<svg>` element for a page of any strict policy: no script, no `style`, nothing loaded.

    The background is transparent; marks with a description say it when pointed at.
    """
    return _svg(_text(spec))


def png(spec: Json, scale: float = 2.0) -> bytes:
    """The chart as a PNG on white, `scale` pixels for each of the specification's."""
    return _png(_text(spec), scale)


def _text(spec: Json) -> str:
    """The specification as JSON: equal charts, equal texts. What XML has no place for is left out."""
    return json.dumps(_printable(spec), sort_keys=True)


def _printable(data: Any) -> Any:
    if isinstance(data, str):
        return _UNPRINTABLE.sub("\ufffd", data)
    if isinstance(data, dict):
        return {key: _printable(value) for key, value in data.items()}
    return [_printable(value) for value in data] if isinstance(data, list) else data


@lru_cache(maxsize=_KEPT)
def _svg(spec: str) -> str:
    # Charts carry their data: there is nothing to fetch.
    root = ElementTree.fromstring(vl_convert.vegalite_to_svg(spec, allowed_base_urls=[]))
    own = f"c{hashlib.sha256(spec.encode()).hexdigest()[:10]}-"
    for element in root.iter():
        _unstyle(element)
        _name_apart(element, own)
        label = element.get("aria-label", "")
        if label and element.get("role") == "graphics-symbol" and element.get("aria-roledescription") != "axis":
            title = ElementTree.Element(f"{{{SVG}}}title")
            title.text = label
            element.insert(0, title)
    return ElementTree.tostring(root, encoding="unicode")


def _unstyle(element: ElementTree.Element) -> None:
    """Turn a `style` attribute into attributes of their own, which mean the same for what charts use."""
    for name, value in _DECLARATION.findall(element.attrib.pop("style", "")):
        element.set(name, value.strip())


def _name_apart(element: ElementTree.Element, own: str) -> None:
    """Put `own` before the names that an element gives and refers to: a page holds several charts."""
    if "id" in element.attrib:
        element.set("id", own + element.attrib["id"])
    for name in ("clip-path", "mask", "fill", "stroke"):
        if element.get(name, "").startswith("url(#"):
            element.set(name, element.attrib[name].replace("url(#", f"url(#{own}", 1))


@lru_cache(maxsize=_KEPT)
def _png(spec: str, scale: float) -> bytes:
    on_white = {**json.loads(spec), "background": "white"}
    drawn: bytes = vl_convert.vegalite_to_png(on_white, scale=scale, allowed_base_urls=[])
    return drawn
