"""The folder of a run that a tracking store knows, on this machine or fetched from there."""

from __future__ import annotations

import os
import socket
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from recx.core.errors import InputError
from recx.core.system.screen import echo
from recx.core.trackers import MODEL

if TYPE_CHECKING:
    from recx.tracking.sqlite_runs import FoundRun

FETCHED = "fetched"
"""The folder, beside the runs, of what was fetched from stores."""
REGISTERED = "models:/"
"""What the address of a registered model begins with."""


@dataclass(frozen=True)
class Tracked:
    """A run that a store knows.

    Attributes:
        place: The address of the store.
        run: The run.
        folder: Its folder on this machine; None: it is not here.
    """

    place: str
    run: FoundRun
    folder: Path | None


def tracked(run: str, outputs: Path, uri: str | None = None) -> Tracked | None:
    """Return a run of a store; None if no store has it.

    Args:
        run: The beginning of its MLflow id (at least 8 digits), or its name; ``best:EXPERIMENT``;
            ``models:/NAME/VERSION`` or ``models:/NAME@ALIAS``.
        outputs: The folder that holds the runs and the default store.
        uri: The store; None: that of ``MLFLOW_TRACKING_URI``, and the one in ``outputs``.

    Raises:
        InputError: Several runs are meant, the run has left no files, or no run of the experiment can be chosen.
        RecxError: A store cannot be read.
    """
    from recx.tracking import store
    from recx.tracking.best_runs import BEST, experiments_near

    own = f"{store.SQLITE}{(outputs / 'mlflow.db').absolute()}"
    others = [store.absolute(uri)] if uri or os.environ.get(store.VARIABLE) else []
    places = list(others if uri else dict.fromkeys([*others, own]))
    if run.startswith(REGISTERED):
        from recx.tracking.fetched_models import registered_run

        return _here(places[0], registered_run(places[0], run), run)
    for place in places:
        found = _found(place, run)
        if found is not None:
            return _here(place, found, run)
    if run.startswith(BEST):
        raise InputError(f"{run}: {experiments_near(places[0], run.removeprefix(BEST))}")
    return None


def tracked_folder(run: str, outputs: Path, uri: str | None = None) -> str | None:
    """Return the folder of a run of a store, whose files are fetched if it is not here; see ``tracked``."""
    found = tracked(run, outputs, uri)
    if found is None:
        return None
    from recx.tracking.fetched_runs import fetch

    return str(found.folder or fetch(found.place, found.run, outputs / FETCHED))


def tracked_model(run: str, outputs: Path, uri: str | None = None) -> Path | None:
    """Return the folder of a run of a store with its model, which is fetched if it is not here; see ``tracked``."""
    found = tracked(run, outputs, uri)
    if found is None:
        return None
    from recx.tracking.fetched_models import fetch_model
    from recx.tracking.mlflow_model import TAG

    if found.folder is not None and ((found.folder / MODEL).is_dir() or TAG not in found.run.tags):
        return found.folder
    return fetch_model(found.place, found.run, outputs / FETCHED)


def _found(place: str, run: str) -> FoundRun | None:
    from recx.tracking.best_runs import BEST, best_run
    from recx.tracking.found_runs import find_run

    if not run.startswith(BEST):
        return find_run(place, run)
    best = best_run(place, run.removeprefix(BEST))
    if best is None:
        return None
    echo(best[1], to=sys.stderr)
    return best[0]


def _here(place: str, found: FoundRun, run: str) -> Tracked:
    from recx.tracking import store
    from recx.tracking.moved import folder_here
    from recx.tracking.sqlite_runs import shown_status

    recorded, file = found.tags.get("recx.folder", ""), store.database(place)
    if not recorded:
        why = f" ({found.tags['recx.reason']})" if found.tags.get("recx.reason") else ""
        raise InputError(
            f"run {run} left no files: it is {shown_status(found.status, found.tags)}{why}: `python -m recx runs` "
            "shows others"
        )
    here = Path(recorded if file is None else folder_here(recorded, file))
    on_this_machine = file is not None or found.tags.get("recx.host") == socket.gethostname()
    return Tracked(place, found, here if on_this_machine and here.is_dir() else None)
