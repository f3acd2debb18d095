"""The critical-difference diagram: places by hand, bars over groups, the length, escaping and well-formed XML."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recx.evaluation.average_ranks import not_told_apart
from recx.report.charts.figures import document
from recx.report.charts.ranks import critical_difference
from recx.report.charts.svg import WIDTH, width_of

RANKS = {"a": 1.25, "b": 2.0, "c": 2.75, "d": 4.0}
GROUPS = (("a", "b", "c"), ("c", "d"))


def drawn(tree: ElementTree.Element, stroke: str) -> list[list[tuple[float, float]]]:
    """Return the lines of a colour as points."""
    found = [path for path in tree[1].iter("path") if path.get("stroke") == f"var({stroke})"]
    return [[(float(x), float(y)) for x, y in re.findall(r"([-\d.]+) ([-\d.]+)", path.get("d", ""))] for path in found]


def test_names_hang_from_their_ranks_and_bars_lie_over_groups() -> None:
    tree = ElementTree.fromstring(critical_difference("ranks", RANKS, 1.5, GROUPS).__html__())
    lines = drawn(tree, "--ink")
    [axis, *_] = [points for points in lines if len(points) == 2 and points[0][1] == points[1][1] == 62]
    left, right = axis[0][0], axis[1][0]

    def at(rank: float) -> float:
        return left + (4 - rank) / 3 * (right - left)

    stems = {round(points[0][0], 1): points for points in lines if len(points) == 3}
    assert sorted(stems) == sorted(round(at(rank), 1) for rank in RANKS.values())
    assert all(points[0][1] == 62 and points[1][0] == points[0][0] for points in stems.values())
    assert [stems[round(at(RANKS[name]), 1)][2][0] > right for name in "abcd"] == [True, True, False, False]
    bars = drawn(tree, "--accent-1")
    expected = [(at(RANKS[group[-1]]) - 3, at(RANKS[group[0]]) + 3) for group in GROUPS]
    assert [(bar[0][0], bar[1][0]) for bar in bars] == [pytest.approx(ends, abs=0.02) for ends in expected]
    [length] = [points for points in lines if points[0][1] == points[1][1] == 22]
    assert length[1][0] - length[0][0] == pytest.approx(1.5 / 3 * (right - left), abs=0.02)
    texts = [text.text for text in tree[1].iter("text")]
    assert "CD = 1.50" in texts
    assert set(RANKS) | {"1", "2", "3", "4"} <= set(texts)
    rows = [[cell.text for cell in row] for row in tree.iter("tr")]
    assert rows == [["chain", "average rank"], *([name, f"{rank:.3f}"] for name, rank in RANKS.items())]
    assert "Groups not told apart: a, b, c; c, d." in tree[1].get("aria-label", "")


def test_one_name_alone_has_no_diagram() -> None:
    assert "no data" in critical_difference("ranks", {"a": 1.0}, 1.0, ()).__html__()


def test_names_are_escaped_and_a_file_of_it_is_xml() -> None:
    ranks = {"<script>x</script>": 1.0, "&" * 60: 2.0}
    chart = critical_difference("a < b", ranks, 0.5, ())
    assert "<script>" not in chart.__html__()
    tree = ElementTree.fromstring(document([chart]))
    assert "var(" not in ElementTree.tostring(tree, encoding="unicode")


@given(st.lists(st.floats(0, 1), min_size=2, max_size=30), st.floats(0.1, 3))
def test_everything_lies_inside_the_picture(steps: list[float], reach: float) -> None:
    n = len(steps)
    places = sorted(1 + step * (n - 1) for step in steps)
    ranks = {f"chain_{place}{'x' * place}": rank for place, rank in enumerate(places)}
    chart = critical_difference("ranks", ranks, min(reach, n - 1), not_told_apart(ranks, reach))
    tree = ElementTree.fromstring(chart.__html__())
    for text in tree[1].iter("text"):
        shown = text.text or (text[0].tail or "")
        x, width = float(text.get("x", "nan")), width_of(shown)
        start = {"start": x, "middle": x - width / 2, "end": x - width}[text.get("text-anchor", "")]
        assert start >= -0.01
        assert start + width <= WIDTH + 0.01
        assert 0 < float(text.get("y", "nan")) < chart.height
