"""Chart specifications as pictures, drawn by vl-convert; what was drawn once is kept for a while."""

import hashlib
import json
import re
import threading
from functools import lru_cache
from typing import Any
from urllib.parse import quote, unquote
from xml.etree import ElementTree
from xml.sax.saxutils import quoteattr

import vl_convert

Json = dict[str, Any]

SVG, XLINK = "http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"
_KEPT = 64
_NOT_MARKS = ("axis", "legend", "title", "subtitle")
_LINK = "https://link.invalid/"
"""Put before the target of each link: the renderer resolves relative ones against an address of its own."""
_LINKED = re.compile(re.escape(_LINK) + r"(\S+)")
_DECLARATION = re.compile(r"\s*([a-z-]+)\s*:\s*([^;]+)")
_UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff\ufffe\uffff]")

# The renderer holds Python's own lock: two charts at once would be drawn no sooner, and equal ones twice.
_drawing = threading.Lock()

ElementTree.register_namespace("", SVG)
ElementTree.register_namespace("xlink", XLINK)


def svg(spec: Json) -> str:
    """The chart as an `<svg>` element for a page of any strict policy: no script, no `style`, nothing loaded.

    The background is transparent; marks with a description say it when pointed at.
    """
    with _drawing:
        return _svg(_text(spec))


def document(spec: Json, stylesheet: str, page: str = "") -> str:
    """The same as a document of its own, for an `<object>` of the page with the address `page`: it is as large as the
    object, has the styles of the address `stylesheet`, and its links lead the page itself to where they point."""
    root = ElementTree.fromstring(svg(spec))
    for name in ("width", "height"):
        del root.attrib[name]
    for link in root.iter(f"{{{SVG}}}a"):
        link.set("target", "_top")
        target = link.get(f"{{{XLINK}}}href", "")
        link.set(f"{{{XLINK}}}href", page + target if target.startswith("#") else target)
    drawn = ElementTree.tostring(root, encoding="unicode")
    return f"<?xml-stylesheet href={quoteattr(stylesheet)}?>{drawn}"


def png(spec: Json, scale: float = 2.0) -> bytes:
    """The chart as a PNG on white, `scale` pixels for each of the specification's."""
    with _drawing:
        return _png(_text(spec), scale)


def _text(spec: Json) -> str:
    """The specification as JSON: equal charts, equal texts. What XML has no place for is left out."""
    return json.dumps(_absolute(_printable(spec)), sort_keys=True)


def _absolute(data: Any) -> Any:
    """The specification with an address for every link that the renderer leaves as it is."""
    if isinstance(data, dict):
        return {
            key: _LINK + quote(value, safe="")
            if key == "href" and isinstance(value, str) and value
            else _absolute(value)
            for key, value in data.items()
        }
    return [_absolute(value) for value in data] if isinstance(data, list) else data


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
        _entitle(element)
        _point(element)
    return ElementTree.tostring(root, encoding="unicode")


def _entitle(element: ElementTree.Element) -> None:
    """Turn a mark's label into a title, which browsers show and read out."""
    if element.get("role") == "graphics-symbol" and element.get("aria-roledescription") not in _NOT_MARKS:
        title = ElementTree.Element(f"{{{SVG}}}title")
        # Without a description of its own, a mark is described by all its data, its link too.
        title.text = _LINKED.sub(lambda link: unquote(link[1]), element.attrib.pop("aria-label", ""))
        if title.text:
            element.insert(0, title)


def _point(element: ElementTree.Element) -> None:
    """Let a link lead where the specification says, and nowhere if it is not one of ours."""
    for name in (f"{{{XLINK}}}href", "href"):
        target = element.attrib.pop(name, "")
        if target.startswith(_LINK):
            element.set(f"{{{XLINK}}}href", unquote(target.removeprefix(_LINK)))


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
