"""The page of benchmarks on several machines: their facts, quality, latencies and curves side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from recx.core.errors import InputError
from recx.core.nouns import OF_SEARCH
from recx.core.system.serialize import flat
from recx.experiment.saved_runs import BENCHMARK
from recx.jobs.benchmark.curves import curves_of
from recx.jobs.benchmark.machines import MEASURING, Machines, Made, machines_of
from recx.jobs.benchmark.page import front_points, interval
from recx.report.page.contents import present
from recx.report.page.several_runs import LATENCY, front_of, measured_rows, render


def html_of_machines(folders: Sequence[Path], anyway: bool = False) -> str:
    """Return the page of benchmarks on several machines.

    Raises:
        InputError: As ``machines_of`` does, and if a file holds other values than a benchmark writes.
    """
    try:
        return render(machines_data(machines_of(folders, anyway)))
    except InputError:
        raise
    except (ValueError, KeyError, TypeError, AttributeError, IndexError) as error:
        named = ", ".join(map(str, folders))
        raise InputError(
            f"{BENCHMARK} in one of {named} cannot be read ({type(error).__name__}): run that benchmark again"
        ) from error


def machines_data(machines: Machines) -> dict[str, Any]:
    """Return the data of the page, in which the machines take the place of the runs of a comparison."""
    made, quality = machines.made, machines.quality
    names = [*machines.comparable, *machines.apart]
    return present(
        title=f"Benchmark of {len(names)} rankers on {len(made)} machines",
        runs=[{"name": one.name, "about": _about(one), "reason": ""} for one in made],
        conclusions=machines.conclusions,
        warnings=machines.warnings,
        quality=quality,
        nouns=vars(OF_SEARCH),
        fronts=[front for one in made for front in _front(one, quality)],
        facts=_facts(made),
        metrics=[row for name in names for row in _qualities(made, name)],
        measured=[row for name in names for row in _measured(made, name)],
        curves=_curves(made, names, quality),
        note="Latencies and throughput are of each machine; of rankers that are not comparable, they are not of the "
        "same lists.",
    )


def _about(one: Made) -> str:
    machine = one.document["machine"]
    return f"{machine.get('processor', '')}, {machine.get('cores')} cores, {machine.get('threads')} threads"


def _facts(made: Sequence[Made]) -> list[dict[str, Any]]:
    """Return a row per fact of the machines and per setting of the measurement."""
    known = [
        {**flat(one.document["machine"]), **{name: str(one.document["settings"].get(name)) for name in MEASURING}}
        for one in made
    ]
    return [{"name": name, "values": [str(of.get(name, "–")) for of in known]} for name in _keys(known)]


def _qualities(made: Sequence[Made], name: str) -> list[dict[str, Any]]:
    found = [one.finished.get(name, {}).get("quality", {}) for one in made]
    return [
        {"metric": f"{name}: {metric}", "values": [interval(of.get(metric, {})) for of in found]}
        for metric in _keys(found)
    ]


def _measured(made: Sequence[Made], name: str) -> list[dict[str, Any]]:
    figures = [one.finished.get(name, {}).get("figures", {}) for one in made]
    return [{**row, "name": f"{name}: {row['name']}"} for row in measured_rows(figures)]


def _front(one: Made, quality: str) -> list[dict[str, Any]]:
    points = front_points(one.document["rankers"], quality, LATENCY[0])
    return front_of(f"Quality against latency on {one.name}", LATENCY[1], quality, points)


def _curves(made: Sequence[Made], names: Sequence[str], quality: str) -> list[dict[str, Any]]:
    """Return the curves of each ranker that depend on the machine, with a line per machine."""
    found = []
    for name in names:
        of_machines = {one.name: one.finished[name] for one in made if name in one.finished}
        rows = [{**facts, "name": machine} for machine, facts in of_machines.items()]
        curves = [curve for curve in curves_of(rows, quality) if curve["y_label"] != quality]
        found += [{**curve, "title": f"{name}: {curve['title'][0].lower()}{curve['title'][1:]}"} for curve in curves]
    return found


def _keys(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    return list(dict.fromkeys(name for row in rows for name in row))
