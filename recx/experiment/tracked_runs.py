"""The folder of a run that a tracking store knows, on this machine or fetched from there."""

from __future__ import annotations

import os
import socket
from pathlib import Path

from recx.core.errors import InputError

FETCHED = "fetched"
"""The folder, beside the runs, of what was fetched from stores."""


def tracked_folder(run: str, outputs: Path, uri: str | None = None) -> str | None:
    """Return the folder of an MLflow run; None if no store has such a run.

    Args:
        run: The beginning of its id (at least 8 digits), or its name.
        outputs: The folder that holds the runs and the default store.
        uri: The store; None: that of ``MLFLOW_TRACKING_URI``, and the one in ``outputs``.

    Raises:
        InputError: Several runs are meant, or the run has left no files.
        RecxError: A store cannot be read.
    """
    from recx.tracking import store
    from recx.tracking.found_runs import find_run

    own = f"{store.SQLITE}{(outputs / 'mlflow.db').absolute()}"
    others = [store.absolute(uri)] if uri or os.environ.get(store.VARIABLE) else []
    for place in others if uri else dict.fromkeys([*others, own]):
        found = find_run(place, run)
        if found is not None:
            from recx.tracking.fetched_runs import fetch
            from recx.tracking.moved import folder_here
            from recx.tracking.sqlite_runs import shown_status

            recorded, file = found.tags.get("recx.folder", ""), store.database(place)
            if not recorded:
                why = f" ({found.tags['recx.reason']})" if found.tags.get("recx.reason") else ""
                raise InputError(
                    f"run {run} left no files: it is {shown_status(found.status, found.tags)}{why}: `python -m recx "
                    "runs` shows others"
                )
            here = recorded if file is None else folder_here(recorded, file)
            on_this_machine = file is not None or found.tags.get("recx.host") == socket.gethostname()
            return here if on_this_machine and Path(here).is_dir() else str(fetch(place, found, outputs / FETCHED))
    return None
