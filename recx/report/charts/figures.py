"""The charts of a run's curves and tables: for its page, and as self-contained SVG files."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from markupsafe import Markup

from recx.core.system.atomic import write_text
from recx.core.types import Array
from recx.report.charts.charts import MOST_BARS, bars, lines
from recx.report.charts.matrix import matrix
from recx.report.charts.svg import CELL, LETTERS, N_STYLES, WIDTH, Chart, element, text

MARGIN, LINE = 16.0, 20.0
"""Units around the charts of a file, and from one text line to the next."""
Columns = Mapping[str, list[Any]]


def write(tables: Mapping[str, Mapping[str, Array]], folder: Path) -> None:
    """Write ``figures/NAME.svg`` for every table that has a chart.

    Args:
        tables: Columns by name of the table.
        folder: The run's folder.
    """
    for name, table in tables.items():
        chart = chart_of(name, table, alone=True)
        if chart is not None:
            (folder / "figures").mkdir(exist_ok=True)
            write_text(folder / "figures" / f"{name}.svg", document([chart]))


def chart_of(name: str, table: Mapping[str, Array | Sequence[Any]], *, alone: bool = False) -> Chart | None:
    """Return the chart of a table, None if it has none.

    Args:
        name: Name of the table.
        table: Values by column, as the evaluator and fitted parts return them.
        alone: Whether the chart goes into a file of its own, without the page that explains it.
    """
    columns = {column: np.asarray(values).tolist() for column, values in table.items()}
    return CHARTS[name](columns, alone) if name in CHARTS else None


def roc_curve(table: Columns, alone: bool) -> Chart:
    """Draw the ROC curve; alone, with the area under it."""
    points = _pairs(table, "false_positive_rate", "true_positive_rate")
    area = np.trapezoid([y for _, y in points], [x for x, _ in points]) if alone else 0.0
    series = {f"area under the curve {area:.3f}" if alone else "": points}
    axes = ("false positive rate", "true positive rate")
    return lines("ROC curve over all rows", *axes, series, square=True)


def pr_curve(table: Columns, alone: bool) -> Chart:
    """Draw the precision-recall curve."""
    return lines(
        "Precision and recall over all rows", "recall", "precision", {"": _pairs(table, "recall", "precision")}
    )


def calibration(table: Columns, alone: bool) -> Chart:
    """Draw the observed share of clicks against the mean predicted probability, by groups of equal size."""
    series = {"observed": _pairs(table, "mean_predicted", "observed")}
    series |= {end: _pairs(table, "mean_predicted", end) for end in ("low", "high")}
    series["as predicted"] = _pairs(table, "mean_predicted", "mean_predicted")
    title = "Observed share of clicks against the predicted probability, with its interval"
    return lines(title, "predicted", "observed", series)


def confusion_matrix(table: Columns, alone: bool) -> Chart:
    """Draw the number of rows by actual and predicted class."""
    counts = [[0.0, 0.0], [0.0, 0.0]]
    for actual, predicted, rows in zip(table["actual"], table["predicted"], table["rows"], strict=True):
        counts[actual][predicted] = float(rows)
    classes = (["actual 0", "actual 1"], ["predicted 0", "predicted 1"])
    return matrix("Rows by actual and predicted class", *classes, counts)


def classification(table: Columns, alone: bool) -> Chart:
    """Draw precision, recall and F of every class."""
    names = ("precision", "recall", "f")
    labels = [f"{of_class}: {name}" for of_class in table["class"] for name in names]
    values = [value for row in zip(*(table[name] for name in names), strict=True) for value in row]
    return bars("Precision, recall and F by class", labels, values)


def reliability(table: Columns, alone: bool) -> Chart:
    """Draw a reliability diagram; alone, with the share of the rows in each bin."""
    series = {"observed" if alone else "": _pairs(table, "mean_predicted", "observed")}
    if alone:
        ends = zip(table["low"], table["high"], table["rows"], strict=True)
        total = max(sum(table["rows"]), 1)
        series["share of the rows"] = [((low + high) / 2, rows / total) for low, high, rows in ends]
    title = "Observed share of targets against the predicted probability"
    return lines(title, "predicted", "observed", series, square=True)


def cascade(table: Columns, alone: bool) -> Chart:
    """Draw the probability that a user of the cascade model stops at a rank, and by that rank."""
    series = {"at this rank": _pairs(table, "rank", "stops_here"), "by this rank": _pairs(table, "rank", "stops_until")}
    return lines("Probability that a user stops", "rank", "probability", series)


def risk_coverage(table: Columns, alone: bool) -> Chart:
    """Draw the share of wrong answers against the share of requests that are answered, the surest first."""
    title = "Share of wrong answers against the share of requests answered, the surest first"
    return lines(title, "coverage", "risk", {"": _pairs(table, "coverage", "risk")}, square=True)


def weights(table: Columns, alone: bool) -> Chart:
    """Draw the weights of a linear model with their intervals, the strongest first."""
    order = sorted(range(len(table["weight"])), key=lambda row: -abs(table["weight"][row]))
    feature, weight, low, high = ([table[name][row] for row in order] for name in ("feature", "weight", "low", "high"))
    title = f"Weights of the standardised features, with 95 % intervals{strongest(order)}"
    return bars(title, feature, weight, low=low, high=high)


_DRAWN = (
    *(roc_curve, pr_curve, calibration, confusion_matrix, classification, reliability, cascade),
    *(risk_coverage, weights),
)
CHARTS: dict[str, Callable[[Columns, bool], Chart]] = {
    **{draw.__name__: draw for draw in _DRAWN},
    **dict.fromkeys(("reliability_before", "reliability_after"), reliability),
}
"""Name of a table -> function that draws it."""


def strongest(rows: Sequence[object]) -> str:
    """Return how many of the bars are drawn if not all are."""
    return f": the strongest {MOST_BARS} of {len(rows)}" if len(rows) > MOST_BARS else ""


def curve_charts(curve: Mapping[str, Any]) -> list[Chart]:
    """Return the charts of a set of curves, as many in each as have styles of their own.

    Args:
        curve: ``title``, ``x_label``, ``y_label``, ``series``: name -> points, ``log_x`` and ``log_y``.
    """
    names, labels = list(curve["series"]), (curve["x_label"], curve["y_label"])
    axes = {"log_x": curve["log_x"], "log_y": curve["log_y"]}
    parts = [names[start : start + N_STYLES] for start in range(0, len(names), N_STYLES)]
    charts = []
    for number, part in enumerate(parts, start=1):
        title = curve["title"] + (f" ({number} of {len(parts)})" if len(parts) > 1 else "")
        series = {name: [(x, y) for x, y in curve["series"][name]] for name in part}
        charts.append(lines(title, *labels, series, **axes))
    return charts


def document(charts: Sequence[Chart]) -> str:
    """Return charts as one SVG file, two side by side: dark on white, without style sheet, script or references."""
    across, height = min(len(charts), 2), max(map(_height, charts)) + MARGIN
    panels = [
        element("g", *_panel(chart), transform=f"translate({MARGIN + at % 2 * (WIDTH + MARGIN)} {at // 2 * height})")
        for at, chart in enumerate(charts)
    ]
    size = (across * (WIDTH + MARGIN) + MARGIN, -(-len(charts) // across) * height)
    drawn = element(
        "svg",
        element("rect", width=size[0], height=size[1], fill="var(--ground)"),
        *panels,
        xmlns="http://www.w3.org/2000/svg",
        width=1.5 * size[0],
        height=1.5 * size[1],
        viewBox=f"0 0 {size[0]} {size[1]}",
        font_family="sans-serif",
        font_size=LETTERS,
        role="img",
        aria_label=". ".join(chart.title for chart in charts),
    )
    # Viewers other than browsers do not know custom properties. Quotes in text are escaped: only attributes match.
    return re.sub(r'="var\((--[\w-]+)[^)"]*\)"', lambda found: f'="{_colours()[found[1]]}"', drawn)


def _panel(chart: Chart) -> Iterator[Markup]:
    """Yield a chart's title, its picture and its legend, one below the other."""
    title = _lines(chart.title)
    for place, words in enumerate(title, start=1):
        yield element("g", text(0, LINE * place, words), font_weight="bold")
    top = LINE * len(title) + 10
    yield element("g", *chart.drawn, transform=f"translate(0 {top})")
    top += chart.height + 4
    for place, (sample, name) in enumerate(chart.samples):
        yield element("g", sample, text(40, 12, name), transform=f"translate(0 {top + LINE * place})")


def _height(chart: Chart) -> float:
    return LINE * (len(_lines(chart.title)) + len(chart.samples)) + chart.height + 14


def _lines(title: str) -> list[str]:
    return textwrap.wrap(title, int(WIDTH / CELL) - 4)


@cache
def _colours() -> dict[str, str]:
    """Return the colours of the light theme by name."""
    sheet = Path(__file__).with_name("colours.css").read_text(encoding="utf-8")
    return dict(re.findall(r"(--[\w-]+): (#\w+);", sheet[: sheet.index("@media")]))


def _pairs(table: Columns, x: str, y: str) -> list[tuple[float, float | None]]:
    return [(at, value) for at, value in zip(table[x], table[y], strict=True) if at is not None and at == at]
