"""The files of a run whose folder is not on this machine, fetched from its store and checked against their hashes."""

from __future__ import annotations

import hashlib
import json
import re
import secrets
import shutil
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from recx.core.errors import InputError
from recx.core.secrets import hidden
from recx.core.system.plain_files import check_plain, read_text
from recx.core.system.sizes import readable
from recx.tracking import store
from recx.tracking.sqlite_runs import FoundRun

if TYPE_CHECKING:
    from mlflow.tracking import MlflowClient

MANIFEST, TAG = "files.json", "recx.files"
"""The artifact that lists a run's files with their hashes, and the tag with its own hash."""
MOST_FILES, LARGEST, LONGEST = 1_000, 10**10, 200
"""Files of a run, bytes of all of them, characters of a name."""


def described(files: Mapping[str, Path]) -> str:
    """Return the list of a run's files as JSON: name -> size and hash."""
    rows = {name: [path.stat().st_size, hash_of(path)] for name, path in files.items()}
    return json.dumps(rows, indent=1, sort_keys=True)


def hash_of(content: Path | str) -> str:
    """Return 32 hex digits of blake2b over a file or a text."""
    if isinstance(content, str):
        return hashlib.blake2b(content.encode(), digest_size=16).hexdigest()
    with content.open("rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=16)).hexdigest()


def fetch(uri: str, run: FoundRun, home: Path) -> Path:
    """Return the folder with the files of a run, which are fetched once.

    Args:
        uri: The store.
        run: The run.
        home: The folder of everything that is fetched.

    Raises:
        InputError: The run has no list of its files, or a file is not what the list says.
        RecxError: The store cannot be read.
    """
    place = home / hash_of(hidden(uri))[:8] / run.id
    if place.is_dir():
        return place
    if TAG not in run.tags:
        raise InputError(
            f"run {run.id}: its folder is not on this machine, and {hidden(uri)} has no list of its files, which recx "
            "writes when a run ends: copy the folder here"
        )
    with fetched_into(place) as part, store.errors_explained(uri):
        fetch_files(store.open_client(uri), run, part)
    return place


def fetch_files(client: MlflowClient, run: FoundRun, folder: Path, names: Collection[str] | None = None) -> None:
    """Put the files that a run has left in its store into a folder, and nothing if it has left no list of them.

    Args:
        client: Client of the store.
        run: The run.
        folder: The folder.
        names: Those that are wanted, of which some may be missing; None: all.

    Raises:
        InputError: The list is damaged, or a file is not what it says.
    """
    if TAG not in run.tags:
        return
    with TemporaryDirectory(dir=folder) as scratch:
        # Where a file ends up depends on the kind of store, so it is put in its place here.
        listed = _listed(Path(client.download_artifacts(run.id, MANIFEST, scratch)), run)
        for name, state in listed.items():
            if names is not None and name not in names:
                continue
            if not put(Path(client.download_artifacts(run.id, name, scratch)), name, state, folder):
                where = hidden(client.tracking_uri)
                raise InputError(f"run {run.id}: {name} in {where} is not the file that the run left there")


@contextmanager
def fetched_into(place: Path) -> Iterator[Path]:
    """Yield a new folder that gets its name when the context ends without an error."""
    part = place.with_name(f".{place.name}.{secrets.token_hex(4)}.part")
    part.mkdir(parents=True)
    try:
        yield part
        part.rename(place)
    finally:
        shutil.rmtree(part, ignore_errors=True)


def put(found: Path, name: str, state: tuple[int, str], folder: Path) -> bool:
    """Copy a file that was fetched to its place in a folder; return False if its size or hash is another."""
    size, digest = state
    if check_plain(found, size).st_size != size or hash_of(found) != digest:
        return False
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(found, folder / name)
    return True


def _listed(manifest: Path, run: FoundRun) -> dict[str, tuple[int, str]]:
    """Return name -> size and hash of the files of a run, of which somebody else may have written the list."""
    text = read_text(manifest)
    wrong = f"run {run.id}: its list of files ({MANIFEST}) is damaged, or somebody else's: copy the run's folder here"
    try:
        rows = {str(name): (int(size), str(digest)) for name, (size, digest) in json.loads(text).items()}
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        raise InputError(wrong) from error
    if hash_of(text) != run.tags[TAG] or len(rows) > MOST_FILES or not all(map(is_inner, rows)):
        raise InputError(wrong)
    total = sum(size for size, _ in rows.values())
    if total > LARGEST or any(size < 0 for size, _ in rows.values()):
        raise InputError(f"run {run.id}: its files have {readable(total)}, too much to fetch: copy its folder here")
    return rows


def is_inner(name: str) -> bool:
    """Return whether a name is that of a file below a folder."""
    parts = PurePosixPath(name).parts
    return len(name) <= LONGEST and bool(parts) and all(re.fullmatch(r"[\w. -]*\w[\w. -]*", part) for part in parts)
