"""The kept chain of a run, fetched from its store and checked against its hashes; nothing of it is loaded here.

MLflow's own way to load a model imports the module that a file of the model names. recx reads the files only.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from recx.core.errors import InputError
from recx.core.secrets import hidden
from recx.core.system.plain_files import read_text
from recx.core.system.sizes import readable
from recx.core.trackers import MODEL
from recx.tracking import store
from recx.tracking.fetched_runs import LARGEST, MOST_FILES, fetch, fetched_into, hash_of, is_inner, put
from recx.tracking.found_runs import found_run
from recx.tracking.mlflow_model import DATA, MANIFEST, TAG
from recx.tracking.sqlite_runs import FoundRun

if TYPE_CHECKING:
    from mlflow.tracking import MlflowClient

_REGISTERED = re.compile(r"models:/(?P<name>[^/@]+)(?:/(?P<version>\d+)|@(?P<alias>[\w.-]+))")


def fetch_model(uri: str, run: FoundRun, home: Path) -> Path:
    """Return the folder with the files of a run and its folder ``model``, which are fetched once.

    Args:
        uri: The store.
        run: The run.
        home: The folder of everything that is fetched.

    Raises:
        InputError: The run has left no model there, or a file is not what its lists say.
        RecxError: The store cannot be read.
    """
    model_id, _, digest = run.tags.get(TAG, "").partition(" ")
    if not model_id:
        raise InputError(
            f"run {run.id} has left no model in {hidden(uri)}: one larger than tracker.upload_limit, or with histories "
            "(tracker.upload_histories), stays in the run's folder: copy that here"
        )
    folder = fetch(uri, run, home)
    if not (folder / MODEL).is_dir():
        with (
            fetched_into(folder / MODEL) as part,
            store.errors_explained(uri),
            TemporaryDirectory(dir=folder) as scratch,
        ):
            location = store.open_client(uri).get_logged_model(model_id).artifact_location

            def fetched(name: str) -> Path:
                from mlflow.artifacts import download_artifacts

                where = f"{location.rstrip('/')}/{DATA}/{name}"
                return Path(download_artifacts(artifact_uri=where, dst_path=scratch, tracking_uri=uri))

            manifest = fetched(MANIFEST)
            for name, state in _listed(read_text(manifest), digest, run).items():
                if not put(fetched(name), name, state, part):
                    raise InputError(f"run {run.id}: {name} of its model in {hidden(uri)} is not the file that it left")
            manifest.rename(part / MANIFEST)
    return folder


def registered_run(uri: str, address: str) -> FoundRun:
    """Return the run whose model is a version of a registered model.

    Args:
        uri: The absolute address of the store.
        address: ``models:/NAME/VERSION``, or ``models:/NAME@ALIAS``.

    Raises:
        InputError: There is none, or recx has not logged it.
        RecxError: The store cannot be read.
    """
    from mlflow.exceptions import MlflowException

    found, file = _REGISTERED.fullmatch(address), store.database(uri)
    if found is None:
        raise InputError(f"{address}: write models:/NAME/VERSION, or models:/NAME@ALIAS, such as models:/news@champion")
    if file is not None and not file.is_file():
        raise InputError(f"{address}: there is no store {file}: name another with --uri, or by {store.VARIABLE}")
    with store.errors_explained(uri):
        client = store.open_client(uri)
        try:
            version = (
                client.get_model_version(found["name"], found["version"])
                if found["version"]
                else client.get_model_version_by_alias(found["name"], found["alias"])
            )
        except MlflowException as error:
            if error.error_code not in ("RESOURCE_DOES_NOT_EXIST", "INVALID_PARAMETER_VALUE"):
                raise
            raise InputError(
                f"{address}: {hidden(uri)} has no such version; {_versions(client, found['name'])}"
            ) from error
        run = found_run(client.get_run(version.run_id)) if version.run_id else None
        model_id = "" if run is None else run.tags.get(TAG, "").partition(" ")[0]
        if not model_id or version.source not in (
            f"models:/{model_id}",
            client.get_logged_model(model_id).artifact_location,
        ):
            raise InputError(f"{address}: this is no model that recx has logged: use MLflow to load it")
    assert run is not None
    return run


def _versions(client: MlflowClient, name: str) -> str:
    """Return a sentence on the versions of a name."""
    known = (
        {}
        if re.search("['`\"]", name)
        else {str(version.version): version for version in client.search_model_versions(f"name = '{name}'")}
    )
    if not known:
        return "no model is registered under this name"
    return f"its versions: {', '.join(sorted(known, key=int))}"


def _listed(text: str, digest: str, run: FoundRun) -> dict[str, tuple[int, str]]:
    """Return name -> size and hash of the files of a model, of which somebody else may have written the list."""
    wrong = f"run {run.id}: the list of its model's files ({MANIFEST}) is damaged, or somebody else's"
    try:
        files = json.loads(text)["files"]
        rows = {str(name): (int(size), str(state)) for name, (size, state) in files.items()}
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise InputError(wrong) from error
    if hash_of(text) != digest or len(rows) > MOST_FILES or not all(map(is_inner, rows)):
        raise InputError(wrong)
    total = sum(size for size, _ in rows.values())
    if total > LARGEST or any(size < 0 for size, _ in rows.values()):
        raise InputError(f"run {run.id}: its model has {readable(total)}, too much to fetch: copy its folder here")
    return rows
