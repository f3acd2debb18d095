"""Figures as files: well-formed, self-contained SVG, and a chart for every table."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from recx.evaluation.metrics.curves import TABLES
from recx.report.charts import charts, figures
from recx.report.charts.charts import Point

NAN = float("nan")
SCRIPT = '<script>alert("var(--ink)")</script>'
SVG = "{http://www.w3.org/2000/svg}"
BINS: dict[str, Any] = {
    "low": np.array([0.0, 0.5]),
    "high": np.array([0.5, 1.0]),
    "rows": np.array([4, 0]),
    "mean_predicted": np.array([0.25, NAN]),
    "observed": np.array([0.5, NAN]),
}
FILLED: dict[str, Any] = {
    "roc_curve": {
        "threshold": np.array([np.inf, 0.5, 0.1]),
        "false_positive_rate": np.array([0.0, 0.5, 1.0]),
        "true_positive_rate": np.array([0.0, 1.0, 1.0]),
    },
    "pr_curve": {
        "threshold": np.array([np.inf, 0.5, 0.1]),
        "recall": np.array([0.0, 0.5, 1.0]),
        "precision": np.array([1.0, 1.0, 0.5]),
    },
    "calibration": {
        "predicted_low": np.array([0.0, 0.2]),
        "predicted_high": np.array([0.1, 0.9]),
        "rows": np.array([5, 5]),
        "mean_predicted": np.array([0.05, 0.4]),
        "observed": np.array([0.0, 0.6]),
        "low": np.array([0.0, 0.2]),
        "high": np.array([0.4, 0.9]),
    },
    "confusion_matrix": {
        "actual": np.array([0, 0, 1, 1]),
        "predicted": np.array([0, 1, 0, 1]),
        "rows": np.array([3, 1, 1, 2]),
    },
    "classification": {
        "class": np.array(["0", "1"]),
        "precision": np.array([0.75, 0.5]),
        "recall": np.array([0.6, 0.4]),
        "f": np.array([0.66, 0.44]),
        "support": np.array([4, 3]),
    },
    "reliability": BINS,
    "reliability_before": BINS,
    "reliability_after": BINS,
    "cascade": {
        "rank": np.array([1, 2]),
        "stops_here": np.array([0.5, 0.25]),
        "stops_until": np.array([0.5, 0.75]),
    },
    "risk_coverage": {
        "confidence": np.array([2.0, -np.inf]),
        "coverage": np.array([0.5, 1.0]),
        "risk": np.array([0.0, 0.5]),
    },
    "weights": {
        "feature": np.array(["clicks", SCRIPT]),
        "weight": np.array([0.5, -1.5]),
        "low": np.array([0.25, NAN]),
        "high": np.array([0.75, NAN]),
    },
}


def read(path: Path) -> ElementTree.Element:
    """Return an SVG file after checking that it has a size and colours and refers to nothing else."""
    text = path.read_text(encoding="utf-8")
    tree = ElementTree.fromstring(text)
    assert tree.tag == f"{SVG}svg"
    assert float(tree.get("width", "")) > 0
    assert float(tree.get("height", "")) > 0
    assert {part.tag.removeprefix(SVG) for part in tree.iter()} <= {
        "svg",
        "g",
        "rect",
        "circle",
        "path",
        "text",
        "title",
    }
    assert not re.search(r"href|url\(|style=|NaN|nan", text)
    inks = {part.get(name, "none") for part in tree.iter() for name in ("fill", "stroke")}
    assert all(re.fullmatch("#[0-9a-f]{3,6}|none", ink) for ink in inks)
    assert (tree[0].tag, tree[0].get("fill")) == (f"{SVG}rect", "#fff")
    return tree


def words(tree: ElementTree.Element) -> list[str]:
    return ["".join(text.itertext()) for text in tree.iter(f"{SVG}text")]


@pytest.fixture
def drawn(tmp_path: Path) -> dict[str, ElementTree.Element]:
    figures.write({**FILLED, "something else": {"a": np.array([1])}}, tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {"figures"}
    return {path.stem: read(path) for path in (tmp_path / "figures").iterdir()}


def test_every_table_has_a_self_contained_chart(drawn: dict[str, ElementTree.Element]) -> None:
    assert set(drawn) == set(FILLED) == set(figures.CHARTS)
    assert set(TABLES) - {"confused_items"} < set(drawn)  # which is a list to read


def test_a_chart_has_its_title_the_names_of_its_axes_and_its_legend(drawn: dict[str, ElementTree.Element]) -> None:
    shown = words(drawn["roc_curve"])
    assert shown[0] == "ROC curve over all rows"
    # 0 to 0.5: a triangle of 0.25, then 0.5
    assert {"false positive rate", "true positive rate", "area under the curve 0.750"} <= set(shown)
    assert words(drawn["reliability"])[-2:] == ["observed", "share of the rows"]
    assert words(drawn["calibration"])[-4:] == ["observed", "low", "high", "as predicted"]
    assert {"recall", "precision"} <= set(words(drawn["pr_curve"]))
    assert words(drawn["cascade"])[-2:] == ["at this rank", "by this rank"]
    assert words(drawn["confusion_matrix"])[-4:] == ["1", "33.3 %", "2", "66.7 %"]
    assert words(drawn["classification"])[1:5] == ["0: precision", "0.7500", "0: recall", "0.6000"]


def test_weights_are_sorted_by_strength_and_their_names_escaped(drawn: dict[str, ElementTree.Element]) -> None:
    shown = words(drawn["weights"])[2:]
    assert shown[0] == '<script>alert("var(--…'
    hovered = [title.text or "" for title in drawn["weights"].iter(f"{SVG}title")]
    assert hovered[0].startswith(f"{SCRIPT}: -1.5")  # in full
    assert shown[1:] == ["-1.500", "clicks", "0.500"]


def test_tables_without_rows_are_drawn(tmp_path: Path) -> None:
    empty = {
        name: {column: values[:0] for column, values in FILLED[name].items()}
        for name in ("classification", "reliability", "cascade")
    }
    figures.write(empty, tmp_path)
    for path in (tmp_path / "figures").iterdir():
        assert "no data" in words(read(path))
    assert len(list((tmp_path / "figures").iterdir())) == 3


def test_a_run_without_tables_has_no_folder_of_figures(tmp_path: Path) -> None:
    figures.write({"something else": {"a": np.array([1])}}, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_charts_are_laid_out_two_side_by_side(tmp_path: Path) -> None:
    chart = charts.dots("t", "x", "y", [Point("a", 1, 1)])
    sizes = []
    for n in (1, 2, 3):
        (tmp_path / "x.svg").write_text(figures.document([chart] * n), encoding="utf-8")
        tree = read(tmp_path / "x.svg")
        sizes.append((float(tree.get("width", "")), float(tree.get("height", ""))))
        assert words(tree).count("t") == n
    assert sizes[0][0] < sizes[1][0] == sizes[2][0]
    assert sizes[0][1] == sizes[1][1] == sizes[2][1] / 2


def test_curves_of_more_series_than_styles_are_several_charts() -> None:
    series = {f"ranker {number}": [(1, 0.5), (10, number + 1.0)] for number in range(8)}
    curve = {"title": "Quality", "x_label": "k", "y_label": "ndcg", "series": series, "log_x": True, "log_y": False}
    made = figures.curve_charts(curve)
    assert [chart.title for chart in made] == ["Quality (1 of 2)", "Quality (2 of 2)"]
    assert [[name for _, name in chart.samples] for chart in made] == [list(series)[:6], list(series)[6:]]
    [alone] = figures.curve_charts({**curve, "series": {"a": [(1, 2.0), (2, None)]}})
    assert alone.title == "Quality"
