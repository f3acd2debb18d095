"""Charts: positions by hand-computed numbers, gaps, escaping, well-formed XML, and no crash for any data."""

from __future__ import annotations

import math
import re
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recx.report.charts import charts
from recx.report.charts.charts import Point
from recx.report.charts.matrix import matrix
from recx.report.charts.scale import alike, linear, logarithmic, number, thinned, tick_label
from recx.report.charts.svg import Chart, width_of, wrapped
from recx.report.terminal.formats import cut

NAN = float("nan")
SCRIPT = "<script>alert(1)</script>"


def parsed(figure: Chart) -> ElementTree.Element:
    """Return the figure as XML: it parses, is one ``figure`` with a caption and a named picture."""
    tree = ElementTree.fromstring(figure.__html__())
    assert (tree.tag, tree.get("class")) == ("figure", "chart")
    assert tree[0].tag == "figcaption"
    assert (tree[1].tag, tree[1].get("role")) == ("svg", "img")
    assert tree[1].get("aria-label")
    return tree


def words(tree: ElementTree.Element) -> list[str]:
    """Return the texts of the picture, without those that are shown on hovering."""
    return [text.text if text.text else (text[0].tail or "") for text in tree[1].iter("text")]


def boxes(tree: ElementTree.Element) -> list[ElementTree.Element]:
    """Return the rectangles that are seen."""
    return [box for box in tree[1].iter("rect") if box.get("stroke")]


def hovered(tree: ElementTree.Element) -> list[str]:
    """Return what hovering over the invisible shapes of a picture shows."""
    return [part[0].text or "" for part in tree[1] if part.get("pointer-events") == "all"]


def cells(tree: ElementTree.Element) -> list[list[str]]:
    return [[cell.text or "" for cell in row] for row in tree.iter("tr")]


def series_paths(tree: ElementTree.Element, accent: int) -> list[list[tuple[float, float]]]:
    """Return the lines of a series as points."""
    found = [path for path in tree[1].iter("path") if path.get("stroke") == f"var(--accent-{accent})"]
    return [points(path.get("d", "")) for path in found if path.get("fill") == "none"]


def points(path: str) -> list[tuple[float, float]]:
    return [(float(x), float(y)) for x, y in re.findall(r"([-\d.]+) ([-\d.]+)", path)]


def test_a_linear_axis_ends_at_round_numbers_and_the_middle_lies_in_the_middle() -> None:
    axis = linear([3, 97], 0, 200)
    assert axis.ticks == (0, 20, 40, 60, 80, 100)
    assert [axis.at(value) for value in (0, 50, 100)] == [0, 100, 200]
    assert axis.labels() == ["0", "20", "40", "60", "80", "100"]


@pytest.mark.parametrize(
    ("values", "ticks"),
    [
        ([0.61, 0.69], (0.6, 0.62, 0.64, 0.66, 0.68, 0.7)),
        ([-1, 1], (-1, -0.5, 0, 0.5, 1)),
        ([5, 5], (2, 3, 4, 5, 6, 7, 8)),
        ([0, 0], (0, 0.1, 0.2, 0.3, 0.4, 0.5)),
        ([], (0, 0.2, 0.4, 0.6, 0.8, 1)),
    ],
)
def test_ticks_are_multiples_of_1_2_or_5(values: list[float], ticks: tuple[float, ...]) -> None:
    assert linear(values, 0, 1).ticks == pytest.approx(ticks)


def test_a_log_axis_has_equal_space_for_every_power_of_ten() -> None:
    axis = logarithmic([1, 100], 0, 200)
    assert axis.ticks == pytest.approx((1, 2, 5, 10, 20, 50, 100))
    assert [axis.at(value) for value in (1, 10, 100)] == pytest.approx([0, 100, 200])
    assert logarithmic([0.01, 90], 0, 1).labels() == ["0.01", "0.1", "1", "10", "100"]
    assert logarithmic([-3, 0], 0, 1).ticks == pytest.approx((1, 2))


def test_numbers_have_four_significant_digits_and_absent_ones_are_dashes() -> None:
    shown = [number(value) for value in (0, 3, 1234567, 0.12345, -0.5, 12.345, 1234.5, 1e-7, 1e20, None, NAN, math.inf)]
    assert shown == ["0", "3", "1,234,567", "0.1235", "-0.5000", "12.35", "1,234", "1e-07", "1e+20", "–", "–", "–"]
    assert [tick_label(0.30000000000000004, 0.1), tick_label(-1e-17, 0.5), tick_label(2e12, 1e12)] == [
        "0.3",
        "0.0",
        "2e+12",
    ]


def test_numbers_side_by_side_have_the_same_decimals() -> None:
    assert alike([0.25, -8.6e-6, None]) == ["0.2500", "0.0000", "–"]
    assert alike([12.5, 0.3, 4.0]) == ["12.50", "0.30", "4.00"]
    assert alike([1200.0, 3.0]) == ["1,200", "3"]
    assert alike([2e-9, NAN]) == ["2e-09", "–"]


def test_thinning_keeps_both_ends_and_every_extreme() -> None:
    wave = [(float(x), 0.0) for x in range(10_000)]
    wave[4321] = (4321.0, 9.0)
    wave[7777] = (7777.0, -9.0)
    kept = thinned(wave, 100)
    assert len(kept) <= 100
    assert {wave[0], wave[-1], wave[4321], wave[7777]} <= set(kept)
    assert kept == sorted(kept)
    assert thinned(wave[:100], 100) == wave[:100]


def test_text_is_cut_by_its_width() -> None:
    assert [cut("abcdef", 6), cut("abcdefg", 6), cut("推荐系统", 6)] == ["abcdef", "abcde…", "推荐…"]
    assert width_of("推荐") == width_of("abcd")


def test_a_line_goes_through_its_points_and_is_interrupted_by_a_gap() -> None:
    tree = parsed(
        charts.lines("t", "k", "recall", {"a": [(0, 0.0), (5, 0.5), (10, 1.0), (12, NAN), (15, 1.0), (20, 0.0)]})
    )
    first, second = [path for path in series_paths(tree, 1) if len(path) > 1]
    (x0, y0), (x5, y5), (x10, y10) = first
    assert (x5, y5) == (pytest.approx((x0 + x10) / 2, abs=0.02), pytest.approx((y0 + y10) / 2, abs=0.02))
    assert y10 < y0  # up is more
    assert second[0] == (pytest.approx(x0 + 1.5 * (x10 - x0), abs=0.02), y10)
    assert cells(tree)[0] == ["k", "a"]
    assert cells(tree)[4] == ["12", "–"]


def test_on_a_log_axis_equal_ratios_are_equally_high_and_zero_is_a_gap() -> None:
    tree = parsed(charts.lines("t", "x", "y", {"a": [(1, 0.1), (2, 1), (3, 10), (4, 0), (5, 1)]}, log_y=True))
    first, second = series_paths(tree, 1)
    heights = [y for _, y in first]
    assert heights[0] - heights[1] == pytest.approx(heights[1] - heights[2])
    assert [y for _, y in second] == [heights[1]]
    assert {"0.1", "1", "10"} <= set(words(tree))


def test_series_differ_in_dashes_and_marks_and_are_named_in_the_legend() -> None:
    given_ = {name: [(1, 0.1 * place), (2, 0.2)] for place, name in enumerate("abcdefgh")}
    tree = parsed(charts.lines("t", "k", "recall", given_))
    dashes = [path.get("stroke-dasharray") for path in tree[1].iter("path") if path.get("stroke-width") == "2"]
    assert len(dashes) == len(set(dashes)) == 6
    marks = {path.get("d") for path in tree[1].iter("path") if path.get("transform")}
    assert len(marks) == 6
    legend = tree.find("ul")
    assert legend is not None
    assert ["".join(item.itertext()).strip() for item in legend] == list("abcdef")
    assert cells(tree)[0] == ["k", *"abcdefgh"]


def test_a_square_chart_has_equal_axes_and_its_diagonal_goes_from_corner_to_corner() -> None:
    tree = parsed(charts.lines("ROC", "x", "y", {"a": [(0, 0), (0.2, 0.6), (1, 1)]}, square=True))
    [dashed] = [path for path in tree[1].iter("path") if path.get("stroke-dasharray") == "3 5"]
    (x0, y0), (x1, y1) = points(dashed.get("d", ""))
    assert x1 - x0 == pytest.approx(y0 - y1, abs=0.02)
    [[start, middle, end]] = [path for path in series_paths(tree, 1) if len(path) == 3]
    assert (start, end) == ((x0, y0), (x1, y1))
    assert middle == (pytest.approx(x0 + 0.2 * (x1 - x0), abs=0.02), pytest.approx(y0 - 0.6 * (y0 - y1), abs=0.02))


def test_bars_start_at_zero_and_negative_ones_go_left() -> None:
    tree = parsed(charts.bars("t", ["a", "b", "c"], [2.0, -1.0, None], low=[1, -2, None], high=[3, NAN, None]))
    a, b = [(float(bar.get("x", "")), float(bar.get("width", ""))) for bar in boxes(tree)]
    assert a[0] == pytest.approx(b[0] + b[1], abs=0.02)
    assert a[1] == pytest.approx(2 * b[1], abs=0.02)
    whiskers = [path for path in tree[1].iter("path") if path.get("stroke") == "var(--ink)"]
    (x, _), (u, _) = points(whiskers[0].get("d", ""))
    assert ((x + u) / 2, u - x) == (pytest.approx(a[0] + a[1], abs=0.02), pytest.approx(a[1], abs=0.02))
    assert (u - x, x - b[0]) == (pytest.approx(2 * b[1], abs=0.02), pytest.approx(2 * b[1], abs=0.02))
    assert len(whiskers) == 3  # one line with two ends: b has no upper end
    assert words(tree) == ["a", "2", "b", "-1", "c", "–"]
    assert cells(tree) == [
        ["", "value", "low", "high"],
        ["a", "2", "1", "3"],
        ["b", "-1", "-2", "–"],
        ["c", *"–––"],
    ]


def test_hovering_shows_the_numbers_of_a_bar_of_a_point_and_of_a_bin() -> None:
    bars = parsed(charts.bars("t", ["a", "b"], [2.0, None], low=[1, None], high=[3, None]))
    assert hovered(bars) == ["a: 2 (1 to 3)", "b: –"]
    curves = parsed(charts.lines("t", "k", "recall", {"x": [(1, 0.25)], "": [(2, 0.5)]}))
    assert hovered(curves) == ["x, k 1: 0.2500", "k 2: 0.5000"]
    bins = parsed(charts.histogram("t", "age", [0, 1, 2], {"targets": [0.5, 0.5], "others": [1.0, None]}))
    assert hovered(bins) == ["0 to 1: targets 0.5000; others 1", "1 to 2: targets 0.5000; others –"]


def test_a_long_name_of_a_bar_is_broken_into_lines_and_whole_on_hovering() -> None:
    name = "item_knn_score + item_knn_rank + clicks_24h"
    tree = parsed(charts.bars("t", [name, "b"], [1.0, 2.0], low=[0.9, 1.0], high=[1.1, 2.5]))
    assert words(tree)[:3] == ["item_knn_score +", "item_knn_rank +", "clicks_24h"]
    assert hovered(tree)[0].startswith(f"{name}: 1")
    assert wrapped("a" * 30, 10, 3) == ["aaaaaaaaa…"]
    assert wrapped("one two three four five six seven", 9, 2) == ["one two", "three fo…"]
    whisker = max(x for path in tree[1].iter("path") for x, _ in points(path.get("d", "")))
    number = [text for text in tree[1].iter("text") if text.text == "2"]
    assert whisker < float(number[0].get("x", "")) - width_of("2")


def test_only_the_first_bars_are_drawn_and_the_table_has_all() -> None:
    tree = parsed(charts.bars("t", [f"n{place}" for place in range(50)], [1.0] * 50))
    assert len(boxes(tree)) == charts.MOST_BARS
    assert len(cells(tree)) == 51
    assert "The first 40 of 50 are drawn." in "".join(tree.itertext())


def test_parts_of_a_stack_are_as_wide_as_their_shares() -> None:
    tree = parsed(charts.stacked("t", {"hit": 0.25, "lost in ranking": 0.5, "lost in retrieval": 0.25, "odd": NAN}))
    frame, *parts = [(float(bar.get("x", "")), float(bar.get("width", ""))) for bar in tree[1].iter("rect")]
    assert [width / frame[1] for _, width in parts] == pytest.approx([0.25, 0.5, 0.25], abs=1e-4)
    assert parts[1][0] == pytest.approx(parts[0][0] + parts[0][1], abs=0.02)
    assert words(tree) == ["1", "2", "3"]
    assert cells(tree)[1:] == [
        ["hit", "25.0 %"],
        ["lost in ranking", "50.0 %"],
        ["lost in retrieval", "25.0 %"],
        ["odd", "–"],
    ]


def test_bins_of_a_histogram_are_adjacent_and_start_at_zero() -> None:
    tree = parsed(charts.histogram("t", "clicks", [0, 10, 20, 40], {"hits": [5, 10, 0], "misses": [1, None, 2]}))
    [outline] = series_paths(tree, 1)[:1]
    left, bottom = outline[0]
    right = outline[-1][0]
    assert [x for x, _ in outline] == pytest.approx(
        [left + share * (right - left) for share in (0, 0, 0.25, 0.25, 0.5, 0.5, 1, 1)], abs=0.02
    )
    heights = [bottom - y for _, y in outline]
    assert heights[0] == heights[-1] == 0
    assert heights[3] == pytest.approx(2 * heights[1], abs=0.02)
    assert len([path for path in series_paths(tree, 2) if len(path) == 4]) == 2
    assert cells(tree)[2] == ["10 to 20", "10", "–"]


def test_dots_lie_on_the_rows_of_their_names() -> None:
    given_ = [Point("trial 1", 0.1, 0), Point("trial 2", 0.2, 2), Point("trial 3", 0.3, 0), Point("failed", NAN, 1)]
    tree = parsed(charts.dots("t", "ndcg", "ranker", given_, rows=["linear", "identity", "a_name_of_more_than_20"]))
    marks = [path for path in tree[1].iter("path") if path.get("transform")]
    assert ["".join(path.itertext()) for path in marks] == ["trial 1", "trial 2", "trial 3"]
    places = [points(path.get("transform", ""))[0] for path in marks]
    labels = {text.text or text[0].tail: text for text in tree[1].iter("text")}
    rows = [float(labels[name].get("y", "")) - 5 for name in ("linear", "identity", "a_name_of_more_than…")]
    assert [y for _, y in places] == pytest.approx([rows[0], rows[2], rows[0]])
    assert rows == pytest.approx([rows[0], rows[0] + 23, rows[0] + 46])
    assert places[1][0] - places[0][0] == pytest.approx(places[2][0] - places[1][0], abs=0.02)


def test_the_front_is_joined_by_steps_and_others_are_hollow() -> None:
    given_ = [
        Point("fast", 1, 0.2, True),
        Point("good", 3, 0.6, True, 0.5, 0.7),
        Point("poor", 3, 0.2),
        Point("gone", NAN, 1),
    ]
    tree = parsed(charts.scatter("t", "ms", "ndcg", given_))
    [steps] = [path for path in tree[1].iter("path") if path.get("stroke-dasharray") == "5 4"]
    (x0, y0), (x1, y1), (x2, y2) = points(steps.get("d", ""))
    assert (y1, x1) == (y0, x2)
    assert (x0 < x2, y2 < y0) == (True, True)
    assert {"fast", "good", "poor"} <= set(words(tree))
    [_, dominated] = ["".join(item.itertext()).strip() for item in tree.iter("li")]
    assert dominated == "dominated: another is no worse in any respect and better in one"
    hollow = [path for path in tree[1].iter("path") if path.get("fill") == "var(--ground, none)"]
    assert ["".join(path.itertext()) for path in hollow] == ["poor"]
    assert cells(tree)[2:] == [
        ["good", "3", "0.6000", "0.5000", "0.7000", "yes"],
        ["poor", "3", "0.2000", "–", "–", "no"],
        ["gone", "–", "1", "–", "–", "no"],
    ]


def test_the_steps_leave_out_what_is_on_the_front_for_something_else() -> None:
    given_ = [
        Point("a", 1, 0.2, True),
        Point("cheap", 2, 0.1, True),
        Point("b", 3, 0.6, True),
        Point("c", 1, 0.1, True),
    ]
    tree = parsed(charts.scatter("t", "ms", "ndcg", given_))
    [steps] = [path for path in tree[1].iter("path") if path.get("stroke-dasharray") == "5 4"]
    (_, y0), (x1, y1), (x2, y2) = points(steps.get("d", ""))
    assert (y1, x1) == (y0, x2)
    assert y2 < y0  # never down: "cheap" and "c" lie off it
    assert not [path for path in tree[1].iter("path") if path.get("fill") == "var(--ground, none)"]
    assert [row[-1] for row in cells(tree)[1:]] == ["yes"] * 4


def test_the_numbers_below_a_chart_are_named_by_its_title() -> None:
    tree = parsed(charts.bars("Weights", ["a"], [1.0]))
    [summary] = tree.iter("summary")
    assert "".join(summary.itertext()) == "Numbers of the figure: Weights"
    [region] = [part for part in tree.iter("div") if part.get("role") == "region"]
    assert region.get("aria-label") == "Numbers of: Weights"


def test_names_never_cover_each_other() -> None:
    tree = parsed(charts.scatter("t", "x", "y", [Point(f"name {place}", 1 + place / 50, 1) for place in range(12)]))
    boxes = [
        (float(text.get("x", "")), float(text.get("y", "")), width_of(text.text or ""))
        for text in tree[1].iter("text")
        if (text.text or "").startswith("name")
    ]
    assert boxes
    for place, (x, y, width) in enumerate(boxes):
        assert all(abs(y - v) >= 14 or u >= x + width or x >= u + wide for u, v, wide in boxes[:place])


def test_a_matrix_shades_each_cell_by_its_share_of_the_row() -> None:
    tree = parsed(matrix("t", ["0", "1"], ["said 0", "said 1"], [[90, 10], [0, NAN]]))
    shades = [float(cell.get("fill-opacity", "")) for cell in tree[1].iter("rect")]
    assert shades == pytest.approx([0.05 + 0.4 * 0.9, 0.05 + 0.4 * 0.1, 0.05, 0.05], abs=0.006)
    assert words(tree) == ["said 0", "said 1", "0", "90", "90.0 %", "10", "10.0 %", "1", "0", "0.0 %", "–"]


EMPTY = {
    "lines": charts.lines("t", "x", "y", {"a": [], "b": [(1, NAN)]}),
    "no lines": charts.lines("t", "x", "y", {}),
    "log of nothing": charts.lines("t", "x", "y", {"a": [(0, 1)]}, log_x=True),
    "bars": charts.bars("t", [], []),
    "bars of nothing": charts.bars("t", ["a"], [None]),
    "stacked": charts.stacked("t", {}),
    "histogram": charts.histogram("t", "x", [], {}),
    "scatter": charts.scatter("t", "x", "y", []),
    "dots": charts.dots("t", "x", "y", [], rows=["a"]),
    "matrix": matrix("t", [], [], []),
}


@pytest.mark.parametrize("figure", EMPTY.values(), ids=EMPTY)
def test_a_chart_without_data_says_so(figure: Chart) -> None:
    assert words(parsed(figure)) == ["no data"]


SCRIPTS = {
    "lines": charts.lines(SCRIPT, SCRIPT, SCRIPT, {SCRIPT: [(1, 2.0)], "b": [(1, 1.0)]}),
    "bars": charts.bars(SCRIPT, [SCRIPT], [1.0]),
    "stacked": charts.stacked(SCRIPT, {SCRIPT: 1.0}),
    "histogram": charts.histogram(SCRIPT, SCRIPT, [0, 1], {SCRIPT: [1], "b": [1]}),
    "scatter": charts.scatter(SCRIPT, SCRIPT, SCRIPT, [Point(SCRIPT, 1, 1)]),
    "matrix": matrix(SCRIPT, [SCRIPT], [SCRIPT], [[1]]),
}


@pytest.mark.parametrize("figure", SCRIPTS.values(), ids=SCRIPTS)
def test_a_script_stays_text(figure: Chart) -> None:
    assert "<script" not in figure.__html__()
    tree = parsed(figure)
    assert tree[0].text == SCRIPT
    assert SCRIPT in "".join(tree[2].itertext()) + "".join(tree[-1].itertext())


def test_colours_come_from_the_page_alone() -> None:
    for figure in [*EMPTY.values(), *SCRIPTS.values()]:
        inks = re.findall(r'(?:fill|stroke)="([^"]*)"', figure.__html__())
        assert inks
        assert all(ink == "none" or ink.startswith("var(--") for ink in inks)
        assert "style=" not in figure.__html__()


ANY = st.one_of(st.none(), st.floats(), st.integers(-(10**6), 10**6))
FLOATS = st.one_of(st.floats(), st.floats(-100, 100))


@given(
    st.dictionaries(st.text(), st.lists(st.tuples(FLOATS, ANY), max_size=12), max_size=8), st.booleans(), st.booleans()
)
def test_any_lines_are_drawn(series: dict[str, list[tuple[float, float | None]]], log_x: bool, square: bool) -> None:
    figure = charts.lines("t", "x", "y", series, log_x=log_x, log_y=log_x, square=square)
    assert "nan" not in _drawn(parsed(figure))


@given(st.lists(st.tuples(st.text(), ANY, ANY, ANY), max_size=12))
def test_any_bars_and_parts_are_drawn(
    rows: list[tuple[str, float | None, float | None, float | None]],
) -> None:
    names, values, low, high = ([row[place] for row in rows] for place in range(4))
    figure = charts.bars("t", [str(name) for name in names], values, low=low, high=high)  # type: ignore[arg-type]
    assert "nan" not in _drawn(parsed(figure))
    assert "nan" not in _drawn(parsed(charts.stacked("t", dict(zip(names, values, strict=True)))))  # type: ignore[arg-type]


@given(st.lists(FLOATS, min_size=1, max_size=8), st.data())
def test_any_histogram_and_matrix_is_drawn(edges: list[float], data: st.DataObject) -> None:
    row = st.lists(ANY, min_size=len(edges) - 1, max_size=len(edges) - 1)
    counts = data.draw(st.dictionaries(st.text(max_size=5), row, max_size=3))
    figure = charts.histogram("t", "x", sorted(edges, key=lambda edge: (edge != edge, edge)), counts)
    assert "nan" not in _drawn(parsed(figure))
    values = list(counts.values())
    assert parsed(matrix("t", list(counts), [str(edge) for edge in edges[1:]], values)) is not None


@given(st.lists(st.builds(Point, st.text(), FLOATS, FLOATS, st.booleans(), ANY, ANY), max_size=20), st.booleans())
def test_any_points_are_drawn(given_: list[Point], log_x: bool) -> None:
    assert "nan" not in _drawn(parsed(charts.scatter("t", "x", "y", given_, log_x=log_x)))


def _drawn(tree: ElementTree.Element) -> str:
    """Return the positions of the elements; texts may be anything."""
    keys = ("d", "x", "y", "width", "height", "transform")
    return " ".join(element.get(key, "") for element in tree[1].iter() for key in keys).replace("inf", "nan")
