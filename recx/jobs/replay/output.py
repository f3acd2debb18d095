"""The files of a replay: ``replay.json``, ``replay.csv`` and its page."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from recx.core.resampling import Procedure
from recx.core.system.atomic import write_text
from recx.core.system.own_folder import OUTPUTS, OwnFolder
from recx.core.system.serialize import as_json, plain, settings
from recx.core.version import __version__
from recx.evaluation.drift import LEVEL
from recx.jobs.replay.run import Replayed
from recx.jobs.replay.windows import moment_of

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
            "until": moment_of(replayed.log.until),
            "end": moment_of(replayed.log.end - 1),
            "asked": settings(replayed.split),
            "notes": replayed.log.notes,
            "reference": None
            if reference is None
            else {"from": wanted.reference, "start": moment_of(reference.window.start), "learned": reference.of_fit},
            "drift": {"moderate": wanted.moderate, "large": wanted.large, "noise": LEVEL},
            "procedure": Procedure().in_words(max(row.counts["judged"] for row in replayed.rows)),
            "windows": [row.as_dict(wanted.moderate, wanted.large) for row in replayed.rows],
            "trends": {name: vars(one) for name, one in replayed.trends.items()},
            "limits": [one.text for one in wanted.limits],
            "alarms": [vars(one) for one in replayed.alarms],
        }
    )
    return dict(said)


def write(replayed: Replayed, folder: Path) -> dict[str, Any]:
    """Write the files of a replay, and return its plain values."""
    from recx.jobs.replay.page import html_of

    said = as_plain(replayed)
    write_text(folder / CSV, replayed.frame.to_csv(index=False))
    write_text(folder / PAGE, html_of(said))
    write_text(folder / JSON, as_json(said))
    return said
