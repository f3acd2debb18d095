"""Runs of any store, found by the beginning of their id or by their name."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from recx.core.errors import InputError
from recx.core.secrets import hidden
from recx.tracking import store
from recx.tracking.past_run import PastRun
from recx.tracking.sqlite_runs import SHORTEST_ID, FoundRun, StoredRun, found_in, past_runs_of, stored_runs

if TYPE_CHECKING:
    from mlflow.entities import Run

MOST, PAGE = 20, 500
"""Runs of one name that are looked at, and runs that a server is asked for at once."""


def find_run(uri: str, wanted: str) -> FoundRun | None:
    """Return the run of a store whose id begins like this, or that has this name; None if there is none.

    Args:
        uri: The absolute address of the store.
        wanted: At least 8 digits of an id, or a name.

    Raises:
        InputError: There are several.
        RecxError: The store cannot be read.
    """
    file = store.database(uri)
    if file is not None and not file.is_file():
        return None
    found = _of_server(uri, wanted) if file is None else found_in(file, wanted)
    if len(found) > 1:
        ids = ", ".join(run.id[:SHORTEST_ID] for run in found[:5])
        raise InputError(
            f"{len(found)} runs of {hidden(uri)} have an id that begins with {wanted}, or this name ({ids} …): give "
            "more digits of the id"
        )
    return found[0] if found else None


def _of_server(uri: str, wanted: str) -> list[FoundRun]:
    if re.search(r"['\"`%]", wanted):
        return []  # signs of MLflow's own query language
    is_id = re.fullmatch("[0-9a-f]{8,32}", wanted) is not None
    query = f"attributes.run_id LIKE '{wanted}%'" if is_id else f"attributes.run_name = '{wanted}'"
    with store.errors_explained(uri):
        client = store.open_client(uri)
        experiments = [one.experiment_id for one in client.search_experiments()]
        runs = client.search_runs(experiments, query, max_results=MOST) if experiments else []
    return [found_run(run) for run in runs]


def found_run(run: Run) -> FoundRun:
    """Return a run that MLflow has found."""
    return FoundRun(run.info.run_id, run.info.experiment_id, run.info.status, run.info.run_name or "", run.data.tags)


def runs_of(uri: str) -> list[PastRun]:
    """Return every run of a store that was not deleted.

    Args:
        uri: The absolute address of the store.

    Raises:
        InputError: There is no such file.
        RecxError: The store cannot be read.
    """
    file = store.database(uri)
    if file is not None:
        if not file.is_file():
            raise InputError(f"{uri}: there is no such store yet: name one that has runs (--uri, {store.VARIABLE})")
        return stored_runs(file)
    with store.errors_explained(uri):
        client = store.open_client(uri)
        names = {one.experiment_id: one.name for one in client.search_experiments()}
        found, token = [], None
        while names:
            page = client.search_runs(list(names), max_results=PAGE, page_token=token)
            found += [_stored(run, names[run.info.experiment_id]) for run in page]
            token = page.token
            if not token:
                break
    return past_runs_of(found)


def _stored(run: Run, experiment: str) -> StoredRun:
    info, data = run.info, run.data
    named = (info.run_id, experiment, info.run_name or "", info.status, info.start_time, info.end_time)
    return StoredRun(*named, data.tags, data.params, data.metrics)
