"""The files of a replay: ``replay.json``, ``replay.csv`` and its page."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from recx.core.resampling import Procedure
from recx.core.system.atomic import write_text
from recx.core.system.own_folder import OUTPUTS, OwnFolder
from recx.core.system.serialize import as_json, plain, settings
from recx.core.version import __version__
from recx.evaluation.drift import LEVEL
from recx.jobs.replay.alarms import DRIFT
from recx.jobs.replay.row import GAIN, Row
from recx.jobs.replay.run import Replayed

JSON, CSV, PAGE = "replay.json", "replay.csv", "report.html"
HOME = Path(OUTPUTS, "replays")


def folder_for(name: str, chosen: Path | None) -> OwnFolder:
    """Return where the files of a replay go: the chosen folder, or a new one in ``outputs/replays``."""
    when = datetime.now(UTC).strftime("%Y-%m-%d_%H-%M-%S")
    return OwnFolder(chosen or HOME / f"{when}_{name}", (JSON, CSV, PAGE), "a replay", "--output")


def as_plain(replayed: Replayed) -> dict[str, Any]:
    """Return everything as plain values."""
    wanted, model, reference = replayed.wanted, replayed.model, replayed.reference
    said = plain(
        {
            "recx": __version__,
            "made": datetime.now(UTC).isoformat(timespec="seconds"),
            "run": str(model.kept.folder.parent),
            "name": model.kept.config.get("name"),
            "objective": model.kept.config.get("objective"),
            "log": str(wanted.log),
            "every": wanted.every,
            "refit": wanted.refit,
            "until": _moment(replayed.log.until),
            "end": _moment(replayed.log.end - 1),
            "asked": settings(replayed.split),
            "notes": replayed.log.notes,
            "reference": None
            if reference is None
            else {"from": wanted.reference, "start": _moment(reference.window.start), "learned": reference.of_fit},
            "drift": {"moderate": wanted.moderate, "large": wanted.large, "noise": LEVEL},
            "procedure": Procedure().in_words(max(row.counts["judged"] for row in replayed.rows)),
            "windows": [_window(row, replayed) for row in replayed.rows],
            "trends": {name: vars(one) for name, one in replayed.trends.items()},
            "limits": [one.text for one in wanted.limits],
            "alarms": [vars(one) for one in replayed.alarms],
        }
    )
    return dict(said)


def _window(row: Row, replayed: Replayed) -> dict[str, Any]:
    moderate, large = replayed.wanted.moderate, replayed.wanted.large
    return {
        "window": row.window.number,
        "name": row.window.name,
        "start": _moment(row.window.start),
        "stop": _moment(row.window.stop),
        "covered": row.window.covered,
        "partial": row.window.partial,
        **row.counts,
        "figures": row.figures,
        "intervals": row.intervals,
        "drift": {name: {**vars(one), "size": one.size(moderate, large)} for name, one in row.moved.items()},
        "refitted": None if row.refitted is None else _moment(row.refitted),
        "not_refitted": row.not_refitted,
        "refit": {name: vars(one) for name, one in row.gains.items()},
    }


def _moment(time: int) -> str:
    return str(np.datetime64(time, "ms"))


def rows_of(said: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the windows of ``as_plain`` as rows of a table: a column per number."""
    for one in said["windows"]:
        flat = {key: value for key, value in one.items() if not isinstance(value, dict)}
        for name, value in one["figures"].items():
            flat[name] = value
            if name in one["intervals"]:
                flat[f"{name}_low"], flat[f"{name}_high"] = one["intervals"][name]
        for name, drift in one["drift"].items():
            flat |= {f"{DRIFT}{name}": drift["psi"], f"{DRIFT}{name}_noise": drift["noise"]}
            flat[f"{DRIFT}{name}_size"] = drift["size"]
        for name, gain in one["refit"].items():
            flat |= {
                f"{GAIN}{name}": gain["gain"],
                f"{GAIN}{name}_low": gain["low"],
                f"{GAIN}{name}_high": gain["high"],
            }
        yield flat


def write(replayed: Replayed, folder: Path) -> dict[str, Any]:
    """Write the files of a replay, and return its plain values."""
    import pandas as pd

    from recx.jobs.replay.page import html_of

    said = as_plain(replayed)
    write_text(folder / CSV, pd.DataFrame(list(rows_of(said))).to_csv(index=False))
    write_text(folder / PAGE, html_of(said))
    write_text(folder / JSON, as_json(said))
    return said
