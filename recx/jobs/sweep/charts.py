"""The figures of a sweep: differences from the baseline, every setting against the objective, importances."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from recx.jobs.sweep.conclusion import Conclusion
from recx.jobs.sweep.repeats import REPEATS
from recx.jobs.sweep.summary import WITHOUT, settings_of
from recx.jobs.sweep.variants import Variant, left_out
from recx.report.charts.charts import MOST_BARS, Point, bars, dots
from recx.report.charts.svg import Chart
from recx.report.terminal.formats import ABSENT

MOST_PANELS = 6
BARS = "bars: 95 % interval of the difference from the baseline"


def charts_of(conclusion: Conclusion) -> list[Chart]:
    """Return the figures of a sweep; none where no trial has an objective."""
    return list(_charts(conclusion))


def _charts(of: Conclusion) -> Iterator[Chart]:
    if of.tested and of.baseline is not None:
        yield _differences(of, of.baseline)
    names = list(of.done[0].settings) if len(of.done) > 1 else []
    panels = [name for name in names if not (of.tested and _is_list(of.done, name))]
    for name in panels[:MOST_PANELS]:
        points = [(f"{one.said}: {one.objective:.4f}", one.settings[name], *_ends(of, one)) for one in of.done]
        yield _panel(f"{name}; {BARS}" if of.tested else name, name, of.objective, points)
    for key, repeat in REPEATS.items():
        rows = [
            (f"{one.said}: {trial.objective:.4f}", settings_of(trial).get(key, ""), trial.objective or 0.0, None, None)
            for one in of.done
            if one.repeated == key
            for trial in one.done
        ]
        if rows:
            yield _panel(f"every {repeat.name}", key, of.objective, rows)
    if of.importances:
        found = of.importances
        names, shares = [one.name for one in found], [one.share for one in found]
        ends = {"low": [one.low for one in found], "high": [one.high for one in found]}
        yield bars("Share of the variance by setting (fANOVA); bars: range over forests", names, shares, **ends)


def _differences(of: Conclusion, baseline: Variant) -> Chart:
    """Draw the difference of every setting from the baseline with its interval, the best first."""
    others = [one for one in of.done if one is not baseline]
    rows = [of.standing(one) for one in others]
    ends = {name: [row[name] for row in rows] for name in ("difference", "low", "high")}
    first = f" (the best {MOST_BARS} of {len(others)})" if len(others) > MOST_BARS else ""
    title = f"{of.objective}: difference from the baseline, with 95 % intervals{first}"
    return bars(title, [one.label for one in others], ends["difference"], low=ends["low"], high=ends["high"])


def _is_list(variants: Sequence[Variant], name: str) -> bool:
    """Return whether each variant has a category of its own, so that the differences show the same."""
    texts = [one.settings[name] for one in variants]
    return len(set(texts)) == len(texts) and _numbers(texts) is None


def _ends(of: Conclusion, one: Variant) -> tuple[float, float | None, float | None]:
    """Return the objective of a variant, and the interval of its difference laid around that of the baseline."""
    row = of.standing(one)
    if of.baseline is None or math.isnan(row["low"]):
        return one.objective, None, None
    return one.objective, of.baseline.objective + row["low"], of.baseline.objective + row["high"]


def _panel(
    title: str, name: str, objective: str, rows: Sequence[tuple[str, str, float, float | None, float | None]]
) -> Chart:
    """Draw one setting against the objective: numbers on an axis (logarithmic if they span much), else categories.

    Args:
        title: What it shows.
        name: The setting.
        objective: The name of the metric.
        rows: Name, value as typed, objective, and the ends of its bar.
    """
    numbers = _numbers([text for _, text, *_ in rows if text])
    if numbers:
        given = [(row, float(row[1])) for row in rows if row[1]]
        points = [Point(row[0], x, row[2], low=row[3], high=row[4]) for row, x in given]
        return dots(title, name, objective, points, log_x=min(numbers) > 0 and max(numbers) > 50 * min(numbers))
    texts = [left_out(text) if name == WITHOUT else text or ABSENT for _, text, *_ in rows]
    categories = list(dict.fromkeys(texts))
    points = [
        Point(row[0], row[2], categories.index(text), low=row[3], high=row[4])
        for row, text in zip(rows, texts, strict=True)
    ]
    return dots(title, objective, name, points, rows=categories)


def _numbers(texts: Sequence[str]) -> list[float] | None:
    try:
        numbers = [float(text) for text in texts]
    except ValueError:
        return None
    return numbers if all(map(math.isfinite, numbers)) else None
