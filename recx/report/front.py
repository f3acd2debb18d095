"""The figure of a benchmark: quality against latency, the front joined."""

from __future__ import annotations

from pathlib import Path

from recx.benchmark.outcome import Outcome
from recx.files import replacing

BLUE, GREY = "#2b6cb0", "#a0aec0"


def draw_front(outcome: Outcome, path: Path) -> None:
    """Draw every ranker whose latency was measured, with its interval; nothing where there is none."""
    metric = outcome.settings.quality
    rows = [
        row
        for row in outcome.finished
        if row.figures.get("latency/p95_ms", 0.0) > 0 and metric in row.quality  # NaN is not above 0
    ]
    if not rows:
        return
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4.5), dpi=110, layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots()
    for row in rows:
        at, (mean, low, high) = row.figures["latency/p95_ms"], row.quality[metric]
        color = BLUE if row.name in outcome.on_front else GREY
        axes.errorbar([at], [mean], yerr=[[mean - low], [high - mean]], fmt="o", color=color, capsize=3)
        axes.annotate(row.name, (at, mean), xytext=(6, 6), textcoords="offset points", fontsize=9)
    kept = sorted((row.figures["latency/p95_ms"], outcome.quality(row)) for row in rows if row.name in outcome.on_front)
    axes.plot([at for at, _ in kept], [mean for _, mean in kept], color=BLUE, linewidth=1, drawstyle="steps-post")
    axes.set_xscale("log")
    axes.set_xlabel("p95 latency of a query, ms")
    axes.set_ylabel(f"{metric}, 95 % interval")
    axes.spines[["top", "right"]].set_visible(False)
    with replacing(path) as temporary:
        figure.savefig(temporary, format="png")
