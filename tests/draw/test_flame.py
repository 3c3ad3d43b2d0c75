import re
from collections.abc import Iterator
from dataclasses import dataclass
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cpubisect.draw import picture
from cpubisect.draw.calltree import Frame
from cpubisect.draw.flame import LONGEST_NAME, NARROWEST, flame
from cpubisect.draw.look import CHANGES, IN_THE_DARK, ON_FRAME

SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = "f<a&b>::g(\"x\", 'y')</title><script>alert(1)</script>]]>\x00\x1b[31m\u202e\ud800\uffff"
QUERY = Frame(
    "all",
    1000,
    1400,
    (
        Frame("rocksdb::Seek(rocksdb::Slice const&)", 600, 900, (Frame("fresh", 0, 300), Frame("same", 300, 300))),
        Frame("gone", 250, 0),
        Frame("Next()", 150, 500),
    ),
)
FRAMES = st.recursive(
    st.builds(Frame, st.text(max_size=30), st.floats(0, 1e9), st.floats(0, 1e9)),
    lambda below: st.builds(
        lambda name, before, after, children: Frame(
            name,
            before + sum(child.before for child in children),
            after + sum(child.after for child in children),
            tuple(children),
        ),
        st.text(max_size=30),
        st.floats(0, 1e9),
        st.floats(0, 1e9),
        st.lists(below, max_size=4),
    ),
    max_leaves=12,
)


@dataclass(frozen=True)
class Box:
    """A frame as it was drawn: `x` and `width` in pixels of the picture, `y` of its top."""

    title: str
    x: float
    y: float
    width: float
    height: float
    fill: str


def placed(
    element: ElementTree.Element, x: float = 0.0, y: float = 0.0
) -> Iterator[tuple[ElementTree.Element, float, float]]:
    """Every element with where its group begins."""
    moved = re.fullmatch(r"translate\(([-\d.e]+),([-\d.e]+)\)", element.get("transform", ""))
    if moved:
        x, y = x + float(moved[1]), y + float(moved[2])
    yield element, x, y
    for child in element:
        yield from placed(child, x, y)


def boxes(svg: str) -> list[Box]:
    """The frames of a picture."""
    found = []
    for element, x, y in placed(ElementTree.fromstring(svg)):
        if element.get("aria-roledescription") == "rect mark":
            left, top, width, height = map(float, re.findall(r"-?[\d.]+(?:e-?\d+)?", element.attrib["d"])[:4])
            title = element.findtext(f"{SVG}title", "")
            found.append(Box(title, x + left, y + top, width, height, element.attrib["fill"]))
    return found


def drawn(root: Frame, width: int = 1200) -> dict[str, Box]:
    """The frames of a picture by the first line of their title."""
    return {box.title.split("\n")[0]: box for box in boxes(picture.svg(flame(root, width)))}


def level(box: Box) -> int:
    """How far a frame's colour says that it grew."""
    (found,) = (level for level, colour in CHANGES.items() if colour == box.fill)
    return found


def labels(svg: str) -> list[ElementTree.Element]:
    """What is written on frames."""
    texts = ElementTree.fromstring(svg).iter(f"{SVG}text")
    return [element for element in texts if element.find(f"{SVG}title") is not None]


def words(svg: str) -> dict[str, str]:
    """What is written on frames, by the first line of their title."""
    return {text.findtext(f"{SVG}title", "").split("\n")[0]: text.text or "" for text in labels(svg)}


def test_a_title_tells_all_there_is_to_know_of_a_frame() -> None:
    assert drawn(QUERY)["rocksdb::Seek(rocksdb::Slice const&)"].title == (
        "rocksdb::Seek(rocksdb::Slice const&)\n"
        "600 before, 900 after, in instructions/query\n"
        "change +300 (+30.00 % of the whole)"
    )


def test_text_says_what_its_frame_says_when_pointed_at() -> None:
    assert words(picture.svg(flame(QUERY)))["gone"] == "gone -250"


def test_colours_say_which_way_and_how_far_of_the_whole_change() -> None:
    assert {name: level(box) for name, box in drawn(QUERY).items()} == {
        "all": 3,
        "rocksdb::Seek(rocksdb::Slice const&)": 3,
        "fresh": 3,
        "same": 0,
        "gone": -3,
        "Next()": 3,
    }
    faster = drawn(Frame("all", 1000, 600, (Frame("a", 500, 470), Frame("b", 300, 190), Frame("c", 200, 199))))
    assert [level(faster[name]) for name in "abc"] == [-1, -2, 0]


def test_the_legend_says_from_which_change_on_a_colour_is_used() -> None:
    texts = {"".join(element.itertext()) for element in ElementTree.fromstring(picture.svg(flame(QUERY))).iter()}
    assert {"\u2264 -200", "\u2264 -80.0", "\u2264 -20.0", "unchanged", "\u2265 +20.0", "\u2265 +200"} <= texts


def test_levels_whose_words_are_equal_keep_their_colours() -> None:
    hardly = Frame("all", 1.0, 1.05, (Frame("a", 0.5, 0.505), Frame("b", 0.5, 0.545)))
    assert [level(box) for box in drawn(hardly).values()] == [3, 1, 3]


def test_changes_that_cancel_are_coloured_and_noise_is_not() -> None:
    moved = drawn(Frame("all", 1000, 1000, (Frame("from", 200, 0), Frame("to", 0, 200), Frame("rest", 800, 800))))
    assert [level(moved[name]) for name in ("from", "to", "rest", "all")] == [-3, 3, 0, 0]
    quiet = drawn(Frame("all", 100_000, 100_001, (Frame("noisy", 50_000, 50_002),)))
    assert {level(box) for box in quiet.values()} == {0}


def test_callees_lie_on_their_caller_and_what_vanished_has_its_place() -> None:
    found = drawn(QUERY)
    root, seek = found["all"], found["rocksdb::Seek(rocksdb::Slice const&)"]
    assert root.y > seek.y > found["fresh"].y
    assert root.y - seek.y == pytest.approx(seek.y - found["fresh"].y)
    scale = root.width / (900 + 250 + 500)
    for name, cost in (("rocksdb::Seek(rocksdb::Slice const&)", 900), ("gone", 250), ("fresh", 300), ("Next()", 500)):
        assert found[name].width == pytest.approx(cost * scale, abs=1)
    assert found["fresh"].x == pytest.approx(seek.x)


@pytest.mark.parametrize("width", [NARROWEST, 640, 1200])
def test_text_stays_in_its_frame_and_everything_in_the_picture(width: int) -> None:
    name = "space::Class::a_function_with_a_name_that_is_much_too_long_for_its_frame(int, char)"
    root = Frame("all", 1e9, 1.1e9, (Frame(name, 6e8, 7e8), Frame("\u95a2\u6570" * 20, 2e8, 2e8), Frame("f", 2e5, 2e5)))
    svg = picture.svg(flame(root, width))
    whole = ElementTree.fromstring(svg)
    assert float(whole.attrib["width"]) <= width
    high = float(whole.attrib["height"])
    found = {box.title.split("\n")[0]: box for box in boxes(svg)}
    for box in found.values():
        assert box.x + box.width <= width
        assert box.y + box.height <= high
    for element, x, y in placed(whole):
        if element.tag == f"{SVG}text":
            lines = [line.text or "" for line in element.iter(f"{SVG}tspan")] or [element.text or ""]
            assert y <= high
            assert x + max(6.6 * len(line) for line in lines) <= width
    for title, text in words(svg).items():
        cells = sum(1 + (letter >= "\u1100" and letter != "…") for letter in text)
        assert cells * 6.6 <= found[title].width
    assert "f" not in words(svg), "a frame without room for three letters has none"
    with pytest.raises(ValueError, match="narrower"):
        flame(root, NARROWEST - 1)


def test_hostile_names_are_text_and_nothing_else() -> None:
    svg = picture.svg(flame(Frame(HOSTILE, 1, 2, (Frame("x" * 5 * LONGEST_NAME, 1, 1),))))
    whole = ElementTree.fromstring(svg)
    assert {element.tag for element in whole.iter()} <= {
        f"{SVG}{tag}" for tag in ("svg", "g", "path", "text", "tspan", "title")
    }
    assert not re.search("[\x00-\x09\x0b-\x1f\u202e\ud800-\udfff\uffff]", svg)
    titles = [box.title for box in boxes(svg)]
    assert titles[0].startswith("f<a&b>::g(\"x\", 'y')</title><script>alert(1)</script>]]>\ufffd")
    assert len(titles[1]) < LONGEST_NAME + 200


def test_every_colour_is_readable_under_its_text() -> None:
    def luminance(code: str) -> float:
        parts = [int(code[at : at + 2], 16) / 255 for at in (1, 3, 5)]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    assert {text.get("fill") for text in labels(picture.svg(flame(QUERY)))} == {ON_FRAME}
    for fill in CHANGES.values():
        assert (luminance(fill) + 0.05) / (luminance(ON_FRAME) + 0.05) > 4.5
        assert (luminance(IN_THE_DARK[ON_FRAME]) + 0.05) / (luminance(IN_THE_DARK[fill]) + 0.05) > 4.5


def flame_count(frame: Frame) -> int:
    return 1 + sum(map(flame_count, frame.children))


@given(FRAMES)
def test_every_frame_has_a_place_of_its_own(root: Frame) -> None:
    spec = flame(root, 400)
    rows = spec["datasets"][spec["layer"][0]["data"]["name"]]
    assert len(rows) == flame_count(root)
    for row in rows:
        assert 0 <= row["left"] < row["right"] <= 400
        assert 0 <= row["low"] < row["high"]


@given(FRAMES)
@settings(max_examples=20)
def test_any_frames_make_a_picture(root: Frame) -> None:
    assert len(boxes(picture.svg(flame(root, 400)))) == flame_count(root)


def test_it_is_a_picture_of_its_own() -> None:
    assert picture.png(flame(QUERY)).startswith(b"\x89PNG")
    assert picture.png(flame(Frame("all", 0, 0))).startswith(b"\x89PNG")
