"""A store that was moved or copied with its folder: MLflow keeps the absolute paths of its files, of the old place."""

from __future__ import annotations

import sqlite3
import sys
from contextlib import closing
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname

from recx.core.errors import RecxError
from recx.core.system.screen import echo

PATIENCE = 20.0
"""Seconds to wait for a process that is writing."""


def bring_along(database: Path, artifacts: Path) -> None:
    """Correct the store where it names the folder of files of another place, and say so.

    An experiment was moved if files of its runs lie in the folder beside the store, or if nothing is left of the folder
    that it names. Otherwise its files still go to the folder that it names, which is said too.

    Args:
        database: The sqlite file, which no other process opens for the first time meanwhile.
        artifacts: The folder for files that belongs to it.

    Raises:
        RecxError: Another program keeps the file locked, or it is damaged.
    """
    try:
        _bring_along(database, artifacts)
    except sqlite3.Error as error:
        raise RecxError(f"the MLflow store {database} failed: {error} (tracker=console runs without it)") from error


def _bring_along(database: Path, artifacts: Path) -> None:
    with closing(sqlite3.connect(database, timeout=PATIENCE)) as store, store:
        rows = store.execute("SELECT experiment_id, name, artifact_location FROM experiments").fetchall()
        for experiment, name, location in rows:
            old = folder_of(location)
            if name == "Default" or old is None or old.resolve() == artifacts.resolve():
                continue  # of MLflow itself, on a server, or in its place
            runs = store.execute(
                "SELECT run_uuid, artifact_uri FROM runs WHERE experiment_id = ?", (experiment,)
            ).fetchall()
            if old.is_dir() and not any((artifacts / run).is_dir() for run, _ in runs):
                said = f"  the files of {name} go to {old}, as the store says, not to {artifacts}: choose another name"
                echo(said, to=sys.stderr)
                continue
            said = f"  the store was moved or copied: the files of {name} go to {artifacts}, and no longer to {old}"
            echo(said, to=sys.stderr)
            new = artifacts.as_uri()
            store.execute("UPDATE experiments SET artifact_location = ? WHERE experiment_id = ?", (new, experiment))
            brought = [
                (new + uri.removeprefix(location), run)
                for run, uri in runs
                if uri.startswith(f"{location}/") and ((artifacts / run).is_dir() or not (old / run).is_dir())
            ]
            store.executemany("UPDATE runs SET artifact_uri = ? WHERE run_uuid = ?", brought)
            _bring_models(store, location, new)


def _bring_models(store: sqlite3.Connection, old: str, new: str) -> None:
    """Correct the places of the models of an experiment, and of their registered versions."""
    columns = (
        ("logged_models", "artifact_location"),
        ("model_versions", "source"),
        ("model_versions", "storage_location"),
    )
    for table, column in columns:
        store.execute(
            f"UPDATE {table} SET {column} = ? || substr({column}, ?) WHERE substr({column}, 1, ?) = ?",
            (new, len(old) + 1, len(old) + 1, f"{old}/"),
        )


def folder_here(recorded: str, database: Path) -> str:
    """Return the folder of a run, which was recorded by its absolute path, in the output folder that holds the store.

    Args:
        recorded: Its path when it ran.
        database: The sqlite file.
    """
    home = database.absolute().parent
    parts = Path(recorded).parts
    places = [at for at, part in enumerate(parts) if part == home.name]
    here = home.joinpath(*parts[places[-1] + 1 :]) if places else home
    return str(here) if here != home and here.is_dir() else recorded


def folder_of(location: str) -> Path | None:
    """Return the absolute path of a location on this machine; None if it is another kind of place."""
    address = urlsplit(location)
    path = Path(url2pathname(address.path)) if address.scheme == "file" else Path(location)
    return path if path.is_absolute() and not address.netloc else None
