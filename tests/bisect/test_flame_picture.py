import re
from xml.etree import ElementTree

import pytest
import vl_convert
from hypothesis import given
from hypothesis import strategies as st

from cpubisect.flame import Frame
from cpubisect.flame_picture import LONGEST_NAME, NARROWEST, PALETTE, flame_svg

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


def frames(picture: ElementTree.Element) -> list[ElementTree.Element]:
    """The groups that are frames."""
    return picture.findall(f".//{SVG}g[@class='flame-frame']")


def drawn(root: Frame, width: int = 1200) -> dict[str, ElementTree.Element]:
    """The groups of a picture by the first line of their title."""
    picture = ElementTree.fromstring(flame_svg(root, width))
    return {group.findtext(f"{SVG}title", "").split("\n")[0]: group for group in frames(picture)}


def box(group: ElementTree.Element) -> dict[str, float]:
    rect = group.find(f"{SVG}rect")
    assert rect is not None
    return {key: float(rect.attrib[key]) for key in ("x", "y", "width", "height")}


def colour(group: ElementTree.Element) -> str:
    rect = group.find(f"{SVG}rect")
    assert rect is not None
    assert rect.attrib["fill"] == PALETTE[rect.attrib["class"]]
    return rect.attrib["class"]


def test_a_title_tells_all_there_is_to_know_of_a_frame() -> None:
    title = drawn(QUERY)["rocksdb::Seek(rocksdb::Slice const&)"].findtext(f"{SVG}title")
    assert title == (
        "rocksdb::Seek(rocksdb::Slice const&)\n"
        "600 before, 900 after, in instructions/query\n"
        "change +300 (+30.00 % of the whole)"
    )


def test_colours_say_which_way_and_how_far_of_the_whole_change() -> None:
    groups = drawn(QUERY)
    found = {name: colour(group) for name, group in groups.items()}
    assert found == {
        "all": "flame-grew-3",
        "rocksdb::Seek(rocksdb::Slice const&)": "flame-grew-3",
        "fresh": "flame-grew-3",
        "same": "flame-same",
        "gone": "flame-shrank-3",
        "Next()": "flame-grew-3",
    }
    faster = drawn(Frame("all", 1000, 600, (Frame("a", 500, 470), Frame("b", 300, 190), Frame("c", 200, 199))))
    assert [colour(faster[name]) for name in "abc"] == ["flame-shrank-1", "flame-shrank-2", "flame-same"]


def test_changes_that_cancel_are_coloured_and_noise_is_not() -> None:
    moved = drawn(Frame("all", 1000, 1000, (Frame("from", 200, 0), Frame("to", 0, 200), Frame("rest", 800, 800))))
    assert [colour(moved[name]) for name in ("from", "to", "rest", "all")] == [
        *("flame-shrank-3", "flame-grew-3", "flame-same", "flame-same")
    ]
    svg = flame_svg(Frame("all", 100_000, 100_001, (Frame("noisy", 50_000, 50_002),)))
    assert "flame-grew" not in svg


def test_callees_lie_on_their_caller_and_what_vanished_has_its_place() -> None:
    groups = drawn(QUERY)
    root, seek = box(groups["all"]), box(groups["rocksdb::Seek(rocksdb::Slice const&)"])
    assert root["y"] > seek["y"] > box(groups["fresh"])["y"]
    scale = root["width"] / (900 + 250 + 500)
    for name, cost in (("rocksdb::Seek(rocksdb::Slice const&)", 900), ("gone", 250), ("fresh", 300), ("Next()", 500)):
        assert box(groups[name])["width"] == pytest.approx(cost * scale, abs=1)
    assert box(groups["fresh"])["x"] == pytest.approx(seek["x"])


@pytest.mark.parametrize("width", [NARROWEST, 640, 1200])
def test_text_stays_in_its_frame_and_everything_in_the_picture(width: int) -> None:
    name = "space::Class::a_function_with_a_name_that_is_much_too_long_for_its_frame(int, char)"
    root = Frame("all", 100, 110, (Frame(name, 60, 70), Frame("\u95a2\u6570" * 20, 20, 20), Frame("f", 0.2, 0.2)))
    picture = ElementTree.fromstring(flame_svg(root, width))
    high = float(picture.attrib["height"])
    for rect in picture.iter(f"{SVG}rect"):
        assert float(rect.attrib["x"]) + float(rect.attrib["width"]) <= width
        assert float(rect.attrib["y"]) + float(rect.attrib["height"]) <= high
    for line in picture.iter(f"{SVG}text"):
        assert float(line.attrib["y"]) <= high
        assert float(line.attrib["x"]) + 6.6 * len(line.text or "") <= width
    for group in frames(picture):
        text = group.findtext(f"{SVG}text", "")
        cells = sum(1 + (letter >= "\u1100" and letter != "…") for letter in text)
        assert cells * 6.6 <= box(group)["width"]
    with pytest.raises(ValueError, match="narrower"):
        flame_svg(root, NARROWEST - 1)


def test_hostile_names_are_text_and_nothing_else() -> None:
    svg = flame_svg(Frame(HOSTILE, 1, 2, (Frame("x" * 5 * LONGEST_NAME, 1, 1),)))
    picture = ElementTree.fromstring(svg)
    assert {element.tag for element in picture.iter()} == {
        f"{SVG}{tag}" for tag in ("svg", "g", "rect", "text", "title")
    }
    assert not re.search("[\x00-\x09\x0b-\x1f\u202e\ud800-\udfff\uffff]", svg)
    titles = [group.findtext(f"{SVG}title", "") for group in frames(picture)]
    assert titles[0].startswith("f<a&b>::g(\"x\", 'y')</title><script>alert(1)</script>]]>\ufffd")
    assert len(titles[1]) < LONGEST_NAME + 200


def test_a_page_whose_policy_forbids_styles_and_scripts_can_show_it() -> None:
    picture = ElementTree.fromstring(flame_svg(QUERY))
    allowed = {"class", "fill", "x", "y", "width", "height", "viewBox", "font-family", "font-size"}
    assert {name for element in picture.iter() for name in element.attrib} == allowed


def test_every_colour_is_readable_under_its_text() -> None:
    def luminance(code: str) -> float:
        parts = [int(code[at : at + 2], 16) / 255 for at in (1, 3, 5)]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    (text,) = set(re.findall(r'<text class="flame-text" fill="(#\w+)"', flame_svg(QUERY)))
    for fill in PALETTE.values():
        assert (luminance(fill) + 0.05) / (luminance(text) + 0.05) > 4.5


@given(FRAMES)
def test_any_frames_make_a_picture_that_a_renderer_takes(root: Frame) -> None:
    picture = ElementTree.fromstring(flame_svg(root, 400))
    assert sum(1 for _ in frames(picture)) == flame_count(root)


def flame_count(frame: Frame) -> int:
    return 1 + sum(map(flame_count, frame.children))


def test_it_is_a_file_of_its_own() -> None:
    assert vl_convert.svg_to_png(flame_svg(QUERY)).startswith(b"\x89PNG")
    assert vl_convert.svg_to_png(flame_svg(Frame("all", 0, 0))).startswith(b"\x89PNG")
