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
MANY = 0.5
"""The share of events on unknown items from which the log may be of other data."""
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
    yield from _gained(said)
    empty = sum(not one["events"] for one in windows)
    if empty:
        yield f"{empty} of the {len(windows)} windows have no event: check that the log is whole"
    failed = [one for one in windows if one["not_refitted"]]
    if failed:
        yield f"not fitted again for {len(failed)} windows, of which the first begins {failed[0]['name']}: " + str(
            failed[0]["not_refitted"]
        )
    absent = max((one["figures"].get("items_not_in_catalogue") or 0.0 for one in windows), default=0.0)
    if absent > MANY:
        yield (
            f"up to {100 * absent:.0f} % of a window's events are on items that the chain does not know: check that "
            "the log has the ids of the run's data, or fit the chain again"
        )
    if said["reference"]["learned"]:
        yield (
            "drift is measured from the last window that the chain has learned from, where its scores may be higher "
            "than on events that it has not seen: the first windows show how much of that there is (--reference first "
            "measures from those)"
        )
    if windows[-1]["partial"]:
        yield f"the log ends within the last window ({100 * windows[-1]['covered']:.0f} % of it), which raises no alarm"
    yield from said["notes"]


def _gained(said: dict[str, Any]) -> Iterator[str]:
    """Yield what refitting gains in the objective or, where that has no value per user, in the first figure."""
    known = _names(said["windows"], "refit")
    if not known:
        return
    name = said["objective"] if said["objective"] in known else known[0]
    found = [one["refit"][name] for one in said["windows"] if name in one["refit"]]
    mean = sum(one["gain"] for one in found) / len(found)
    above, below = (sum((one[end] or 0.0) * sign > 0 for one in found) for end, sign in (("low", 1), ("high", -1)))
    yield (
        f"refitting changes {name} by {mean:+.4f} on average over {len(found)} windows; the interval lies above 0 in "
        f"{above} of them and below it in {below}"
    )


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
