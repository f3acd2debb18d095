"""The page of a replay."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from recx.jobs.replay.row import COVERAGE, GAIN
from recx.report.charts.charts import lines
from recx.report.charts.svg import Chart
from recx.report.page.render import render, short

FEATURE = "feature/"
MOST = 6
"""Figures that are drawn together."""
SHARES = {
    "new_users": "Events of users whom the fit has not seen",
    "new_items": "Events on items that the fit has not seen",
    "items_not_in_catalogue": "Events on items that the chain cannot show",
    COVERAGE: "Items of the catalogue in the first 10 places",
}


def html_of(said: dict[str, Any]) -> str:
    """Return the page of a replay from its plain values."""
    windows = said["windows"]
    metrics = [name for name in _names(windows, "intervals") if name.startswith("end_to_end/")]
    page = {
        **said,
        "title": f"replay of {said['name']}",
        "metrics": metrics,
        "shares": SHARES,
        "moved": _names(windows, "drift"),
        "gains": _names(windows, "refit"),
        "charts": list(_charts(said, metrics)),
        "sentences": list(sentences(said)),
        "trended": [name for name in said["trends"] if not name.startswith(GAIN)],
    }
    return render(page, "replay.html.jinja")


def _names(windows: list[dict[str, Any]], key: str) -> list[str]:
    return list(dict.fromkeys(name for one in windows for name in one[key]))


def sentences(said: dict[str, Any]) -> Iterator[str]:
    """Yield what a person should know first: alarms, large drift, figures that fall or rise, what refitting gains."""
    windows = said["windows"]
    if said["limits"]:
        n = len(said["alarms"])
        crossed = list(dict.fromkeys(one["figure"] for one in said["alarms"]))
        yield f"{n} alarm{'s' * (n != 1)}" + (f": {', '.join(crossed[:6])}" if n else f" ({', '.join(said['limits'])})")
    last = next((one for one in reversed(windows) if one["drift"]), None)
    if last is not None:
        for size in ("large", "moderate"):
            names = [name for name, one in last["drift"].items() if one["size"] == size]
            if names:
                yield f"{size} drift in the last window: {', '.join(names[:8])}" + (" …" if len(names) > 8 else "")
    for name, one in said["trends"].items():
        if name.startswith("end_to_end/") and one["p"] < 0.05:
            way = "rises" if one["slope"] > 0 else "falls"
            yield f"{name} {way} by {abs(one['slope']):.4f} a window (Kendall p = {one['p']:.3f})"
    gained = [(name, gain, one["name"]) for one in windows for name, gain in one["refit"].items() if gain["low"] > 0]
    if said["refit"] is not None and any(one["refit"] for one in windows):
        best = max(gained, key=lambda found: found[1]["gain"], default=None)
        yield (
            "refitting would have gained nothing that can be told from chance"
            if best is None
            else f"refitting would have gained most in {best[0]} from {best[2]} on: {best[1]['gain']:+.4f} "
            f"({best[1]['low']:+.4f} to {best[1]['high']:+.4f})"
        )
    if said["reference"]["learned"]:
        yield (
            "drift is measured from the last window that the chain has learned from, where its scores may be higher "
            "than on events that it has not seen: the first windows show how much of that there is (--reference first "
            "measures from those)"
        )
    if windows[-1]["partial"]:
        yield "the log ends within the last window"
    yield from said["notes"]


def _charts(said: dict[str, Any], metrics: list[str]) -> Iterator[Chart]:
    windows = said["windows"]
    for name in metrics[:MOST]:
        points = {short(name): [(one["window"], one["figures"].get(name)) for one in windows]}
        for end, label in enumerate(("low", "high")):
            points[label] = [(one["window"], one["intervals"].get(name, (None, None))[end]) for one in windows]
        yield lines(f"{short(name)} by window, with its 95 % interval", "window", short(name), points)
    shares = {name: [(one["window"], one["figures"].get(name)) for one in windows] for name in SHARES}
    yield lines("Shares of new users and items, and coverage, by window", "window", "share", shares)
    drawn = sorted(
        _names(windows, "drift"),
        key=lambda name: -max((one["drift"][name]["psi"] or 0.0) for one in windows if name in one["drift"]),
    )
    moved = {
        name: [(one["window"], one["drift"][name]["psi"] if name in one["drift"] else None) for one in windows]
        for name in drawn
    }
    yield lines("Index of stability (PSI) by window: those that moved most", "window", "PSI", moved)
    for name in _names(windows, "refit")[:2]:
        kept = [(one["window"], one["figures"].get(name)) for one in windows]
        again = [(one["window"], one["refit"][name]["value"] if name in one["refit"] else None) for one in windows]
        yield lines(
            f"{short(name)}: as it was kept, and refitted", "window", short(name), {"kept": kept, "refitted": again}
        )
