"""Charts and their pictures: drawn from handmade axes, safe in a strict page, in no colours but the palette's."""

import math
import re
import struct
from dataclasses import replace
from xml.etree import ElementTree

import pytest

from cpubisect.draw import chart, picture
from cpubisect.draw.axis import Axis, Interval, Mark, Point, Range
from cpubisect.draw.calltree import Frame
from cpubisect.draw.flame import flame
from cpubisect.draw.look import IN_THE_DARK, PALETTE, dark_rules
from cpubisect.search.stats import Step

HOSTILE = '</svg><script>alert(1)</script> "quoted" & \x1b[1m'
EMPTY = Axis(1, "rocksdb", "seekrandom", "running", "instructions/query", 237, "v1.0", "v2.0", None, None)
MEASURED = ((0, 66000.0, 2), (60, 66010.0, 1), (152, 66400.0, 2), (153, 72500.0, 2), (237, 72495.0, 2))
POINTS = tuple(
    Point(position, f"{position:040x}", HOSTILE, mean, *((mean - 40, mean + 40) if count > 1 else (None, None)), count)
    for position, mean, count in MEASURED
)
FULL = replace(
    EMPTY,
    good_cost=65997.0,
    bad_cost=72495.0,
    points=POINTS,
    classes=(Range(3, 9), Range(20, 21)),
    unbuildable=(Range(80, 95, HOSTILE), Range(120, 120, "error")),
    intervals=(Interval(60, 152, 0.2), Interval(152, 153, 0.7)),
    culprits=(Mark(153, f"{153:040x}", HOSTILE, 9.2), Mark(60, f"{60:040x}", "small", 0.6)),
)
STEPS = {
    "instructions/query": Step(9.2, 9.1, 9.3, 0.1),
    "cpu us/query": Step(2.8, -9.0, 16.0, 15.0),
    "qps": Step(-1.0, -math.inf, math.inf, math.inf),
}
SPECS = {
    "full": chart.commits(FULL, 1200, "https://example.org/commit/{}".format),
    "narrow": chart.commits(FULL, 360),
    "empty": chart.commits(EMPTY, 800),
    "steps": chart.steps(STEPS, 560),
    "narrow steps": chart.steps(STEPS, 340),
    "flame": flame(Frame("all", 90, 120, (Frame(HOSTILE, 60, 90), Frame("gone", 20, 0)))),
    "stacked": chart.stacked([chart.commits(FULL, 600), chart.commits(EMPTY, 600)]),
}


@pytest.fixture(params=SPECS.values(), ids=SPECS.keys())
def drawn(request: pytest.FixtureRequest) -> str:
    return picture.svg(request.param)


def test_a_picture_obeys_a_strict_policy(drawn: str) -> None:
    root = ElementTree.fromstring(drawn)
    for element in root.iter():
        assert element.tag.rpartition("}")[2] not in ("script", "style", "image", "foreignObject")
        assert "style" not in element.attrib
        assert not [name for name in element.attrib if name.startswith("on")]


def test_only_the_palette_is_used(drawn: str) -> None:
    used = set(re.findall(r' (?:fill|stroke|stop-color)="([^"]*)"', drawn)) - {"none"}
    assert used <= set(PALETTE.values())


def test_the_background_is_transparent(drawn: str) -> None:
    root = ElementTree.fromstring(drawn)
    assert not [child for child in root if child.tag.endswith("rect")]


def test_every_colour_has_another_in_the_dark() -> None:
    assert IN_THE_DARK.keys() == set(PALETTE.values())
    assert all(re.fullmatch("#[0-9a-f]{6}", colour) for pair in IN_THE_DARK.items() for colour in pair)
    assert 'svg [stroke="#d55e00"]' in dark_rules()


def test_points_link_to_their_commits_and_say_what_they_are() -> None:
    text = picture.svg(SPECS["full"])
    assert f'href="https://example.org/commit/{152:040x}"' in text
    assert "66,400 [66,360, 66,440] instructions/query, 2 samples" in text
    assert "commits 80 to 95 cannot be measured" in text
    assert "the step is in commit 153, P = 0.700" in text
    assert "href" not in picture.svg(SPECS["narrow"])


def test_a_link_within_the_page_stays_there() -> None:
    spec = chart.commits(FULL, 1200, "#c-{}".format)
    assert f'href="#c-{152:040x}"' in picture.svg(spec)
    assert 'href="http' not in picture.svg(spec)


def test_a_document_of_its_own_leads_its_page_to_the_links() -> None:
    spec = chart.commits(FULL, 1200, "#c-{}".format)
    text = picture.document(spec, "/charts.css?a&b", "/page?one=1&two=2")
    assert text.startswith('<?xml-stylesheet href="/charts.css?a&amp;b"?><svg ')
    root = ElementTree.fromstring(text)
    links = list(root.iter("{http://www.w3.org/2000/svg}a"))
    assert {link.get("target") for link in links} == {"_top"}
    assert f"/page?one=1&two=2#c-{152:040x}" in {link.get(f"{{{picture.XLINK}}}href") for link in links}
    assert {"width", "height"}.isdisjoint(root.attrib)
    assert "viewBox" in root.attrib
    elsewhere = picture.document(SPECS["full"], "/charts.css", "/page")
    assert f'href="https://example.org/commit/{152:040x}"' in elsewhere


def test_what_a_mark_says_is_said_once() -> None:
    root = ElementTree.fromstring(picture.svg(SPECS["full"]))
    said = [element for element in root.iter() if element.find("{http://www.w3.org/2000/svg}title") is not None]
    assert said
    assert not [element for element in said if "aria-label" in element.attrib]


def test_stacked_charts_show_what_each_shows() -> None:
    text = picture.svg(SPECS["stacked"])
    assert "66,400 [66,360, 66,440] instructions/query" in text
    assert "nothing measured yet" in text


def test_axes_have_units() -> None:
    text = picture.svg(SPECS["full"])
    assert ">instructions/query<" in text
    assert ">commits since good (v1.0)<" in text
    assert ">commits since the fork point<" in picture.svg(chart.commits(replace(FULL, fork=True), 1200))


def test_charts_of_one_page_have_names_of_their_own() -> None:
    one, other = (set(re.findall(r' id="([^"]+)"', picture.svg(SPECS[name]))) for name in ("full", "narrow"))
    assert one
    assert one.isdisjoint(other)
    for name in one:
        assert f"url(#{name})" in picture.svg(SPECS["full"])


@pytest.mark.parametrize("width", [360, 1200])
def test_a_picture_is_as_wide_as_asked_for(width: int) -> None:
    content = picture.png(chart.commits(FULL, width), scale=1)
    assert content.startswith(b"\x89PNG")
    wide, high = struct.unpack(">II", content[16:24])
    assert width * 0.9 <= wide <= width + 16
    assert 280 <= high <= 340


def test_a_style_attribute_would_become_attributes() -> None:
    element = ElementTree.Element("text", {"style": "font-weight: bold; fill: #333a45"})
    picture._unstyle(element)
    assert element.attrib == {"font-weight": "bold", "fill": "#333a45"}


def test_a_long_path_with_many_points_stays_small() -> None:
    points = tuple(Point(n * 20, f"{n:040x}", "s", 100.0 + n % 7, 99.0, 108.0, 3) for n in range(500))
    many = replace(FULL, size=10_000, points=points, classes=tuple(Range(n, n + 1) for n in range(0, 9_000, 3)))
    assert len(picture.svg(chart.commits(many, 1200))) < 1_000_000
