"""Draws the curves and tables of a run as PNG files."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from recx.atomic import replacing
from recx.errors import InputError, did_you_mean
from recx.types import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BLUE, ORANGE, GREEN, GREY = "#2b6cb0", "#dd6b20", "#2f855a", "#a0aec0"


def draw(name: str, table: Mapping[str, Array], path: Path) -> None:
    """Draw a table of a run by its name and write it to ``path`` as a PNG.

    Raises:
        InputError: there is no drawing of that name.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    if name not in DRAWINGS:
        raise InputError(f"there is no drawing {name!r}: {did_you_mean(name, DRAWINGS)}")
    figure = Figure(figsize=(6, 5), dpi=120, layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    axes.spines[["top", "right"]].set_visible(False)
    DRAWINGS[name](axes, table)
    with replacing(path) as temporary:
        figure.savefig(temporary, format="png")


def roc_curve(axes: Axes, table: Mapping[str, Array]) -> None:
    x, y = table["false_positive_rate"], table["true_positive_rate"]
    axes.plot([0, 1], [0, 1], color=GREY, linestyle="--", label="by chance")
    axes.plot(x, y, color=BLUE, label=f"area under the curve {np.trapezoid(y, x):.3f}")
    axes.set(
        title="ROC curve, all rows together",
        xlabel="False positive rate (share of the non-targets)",
        ylabel="True positive rate (share of the targets)",
        aspect="equal",
    )
    axes.legend(loc="lower right", frameon=False)


def confusion_matrix(axes: Axes, table: Mapping[str, Array]) -> None:
    rows = np.zeros((2, 2), dtype=np.int64)
    rows[table["actual"], table["predicted"]] = table["rows"]
    share = rows / np.maximum(rows.sum(axis=1, keepdims=True), 1)
    axes.imshow(share, cmap="Blues", vmin=0, vmax=1)
    for (actual, predicted), count in np.ndenumerate(rows):
        part = share[actual, predicted]
        axes.text(
            predicted,
            actual,
            f"{count:,}\n{part:.1%} of the class",
            ha="center",
            va="center",
            color="white" if part > 0.5 else "black",
        )
    axes.set(title="Confusion matrix (rows)", xlabel="Predicted class", ylabel="Actual class")
    axes.set(xticks=[0, 1], yticks=[0, 1], xticklabels=["0", "1 (target)"], yticklabels=["0", "1 (target)"])


def classification(axes: Axes, table: Mapping[str, Array]) -> None:
    place = np.arange(len(table["class"]))
    colors = {"precision": BLUE, "recall": ORANGE, "f": GREEN}
    for shift, (column, color) in zip((-0.27, 0, 0.27), colors.items(), strict=True):
        bars = axes.bar(place + shift, table[column], width=0.25, color=color, label=column)
        axes.bar_label(bars, fmt="%.2f", fontsize=8)
    names = [f"{name}\n{rows:,} rows" for name, rows in zip(table["class"], table["support"], strict=True)]
    axes.set(title="Precision, recall and F by class", xlabel="Class", ylabel="Value (0 to 1)", ylim=(0, 1.18))
    axes.set_xticks(place, names)
    axes.legend(loc="upper center", ncols=3, frameon=False)


def reliability(axes: Axes, table: Mapping[str, Array]) -> None:
    filled = table["rows"] > 0
    share = table["rows"] / max(int(table["rows"].sum()), 1)
    width = table["high"] - table["low"]
    axes.bar(table["low"], share, width=width, align="edge", color=GREY, alpha=0.4, label="share of the rows")
    axes.plot([0, 1], [0, 1], color=GREY, linestyle="--", label="calibrated")
    axes.plot(table["mean_predicted"][filled], table["observed"][filled], color=BLUE, marker="o", label="observed")
    axes.set(
        title="Reliability",
        xlabel="Predicted probability (mean of a bin)",
        ylabel="Observed share of targets",
        aspect="equal",
    )
    axes.legend(loc="upper left", frameon=False)


def cascade(axes: Axes, table: Mapping[str, Array]) -> None:
    from matplotlib.ticker import MaxNLocator

    axes.bar(table["rank"], table["stops_here"], color=BLUE, label="stops here")
    axes.plot(table["rank"], table["stops_until"], color=ORANGE, marker=".", label="has stopped by here")
    axes.set(title="Cascade model", xlabel="Rank", ylabel="Chance (mean over users)", ylim=(0, 1))
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.legend(loc="upper left", frameon=False)


def weights(axes: Axes, table: Mapping[str, Array]) -> None:
    place = np.arange(len(table["feature"]))
    reach = np.nan_to_num([table["weight"] - table["low"], table["high"] - table["weight"]]).clip(min=0)
    axes.barh(place, table["weight"], color=[BLUE if weight >= 0 else ORANGE for weight in table["weight"]])
    axes.errorbar(table["weight"], place, xerr=reach, fmt="none", ecolor="black", elinewidth=0.8, capsize=2)
    axes.axvline(0, color=GREY, linewidth=0.8)
    axes.set(title="Weights, with 95 % bootstrap intervals", xlabel="Weight on the standardised feature")
    axes.set_yticks(place, table["feature"], fontsize=8 if len(place) <= 25 else 5)
    axes.invert_yaxis()


DRAWINGS: dict[str, Callable[[Axes, Mapping[str, Array]], None]] = {
    "roc_curve": roc_curve,
    "confusion_matrix": confusion_matrix,
    "classification": classification,
    "reliability": reliability,
    "reliability_before": reliability,
    "reliability_after": reliability,
    "cascade": cascade,
    "weights": weights,
}
"""Name of a table -> what draws it."""
