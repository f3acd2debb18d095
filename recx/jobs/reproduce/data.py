"""The data of a reproduction: found, and checked by hash and by counts before anything runs."""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from recx.core.errors import InputError
from recx.jobs.reproduce.spec import COUNTS, Reproduction
from recx.jobs.study.plan import Local, merged
from recx.jobs.study.spec import DATA, StudySpec, spec_of
from recx.jobs.study.start import Request

GZIP = ".gz"
CHUNK = 2**20


@dataclass(frozen=True)
class Found:
    """The files of a reproduction's data.

    Attributes:
        files: Name in the reproduction -> the file, which may be packed by gzip where the name says otherwise.
        unchecked: Files whose hash is not known.
    """

    files: Mapping[str, Path]
    unchecked: Sequence[str] = field(default_factory=tuple)


def find(found: Reproduction, folder: Path | None, typed: Sequence[str] = ()) -> Found:
    """Return the files of a reproduction, whose content is the one that its figures belong to.

    Args:
        found: The reproduction.
        folder: The folder of ``data=DIR``; None: none was given.
        typed: Overrides that name files elsewhere, such as ``dataset.path=FILE``.

    Raises:
        InputError: A file is missing, or has another content; the message says where to get the right one.
    """
    elsewhere, files = _elsewhere(found, typed), dict[str, Path]()
    where = f"get it from {found.data.where}"
    for name, wanted in found.data.files.items():
        if name not in elsewhere and folder is None:
            raise InputError(f"reproduce {found.name}: {name} is needed: {where}, and name its folder by data=DIR")
        files[name] = file = elsewhere[name] if name in elsewhere else _variant(Path(str(folder)) / name)
        if not file.is_file():
            raise InputError(f"reproduce {found.name}: {file} is not there: {where}, and name its folder by data=DIR")
        if wanted is not None and (got := sha256_of(file)) != wanted:
            raise InputError(
                f"reproduce {found.name}: {file} is not the data of these figures: the SHA-256 of its content is "
                f"{got[:12]}…, and {wanted[:12]}… is expected: {where}"
            )
    return Found(files, tuple(name for name, wanted in found.data.files.items() if wanted is None))


def sha256_of(file: Path) -> str:
    """Return the SHA-256 of a file's content, unpacked if its name ends with ``.gz``."""
    digest = hashlib.sha256()
    with gzip.open(file) if file.suffix == GZIP else file.open("rb") as stream:
        while chunk := stream.read(CHUNK):
            digest.update(chunk)
    return digest.hexdigest()


def _variant(file: Path) -> Path:
    """Return the file, or the same packed or unpacked where only that is there."""
    other = file.with_suffix("") if file.suffix == GZIP else file.with_name(file.name + GZIP)
    return other if other.is_file() and not file.exists() else file


def _elsewhere(found: Reproduction, typed: Sequence[str]) -> dict[str, Path]:
    """Return file of the reproduction -> path, where a typed override names another place for it."""
    places = {_key(override): Path(override.partition("=")[2]) for override in typed}
    named = {} if found.study is None else dict(_files_of(found.study))
    return {name: places[key] for key, name in named.items() if key in places and name in found.data.files}


def _files_of(study: StudySpec) -> Iterator[tuple[str, str]]:
    """Yield (key, file) of each override of a world that names a file of the data."""
    for overrides in study.worlds.values():
        for override in overrides:
            _, is_file, name = override.partition(f"={DATA}/")
            if is_file:
                yield _key(override), name


def _key(override: str) -> str:
    return override.lstrip("+").partition("=")[0]


def resolved(content: Mapping[str, Any], found: Found) -> dict[str, Any]:
    """Return what the file of a study says, with worlds that name the files that were found, packed or not."""
    worlds = {name: [_named(one, found) for one in overrides] for name, overrides in content["worlds"].items()}
    return {**content, "worlds": worlds}


def _named(override: str, found: Found) -> str:
    key, _, name = override.partition(f"={DATA}/")
    return f"{key}={DATA}/{Path(name).with_name(found.files[name].name)}" if name in found.files else override


def check_counts(found: Reproduction, content: Mapping[str, Any], request: Request) -> None:
    """Check the counts of each world's data, as it is loaded, before filters.

    Args:
        found: The reproduction.
        content: Its study, with the files that were found.
        request: What the command line says besides.

    Raises:
        InputError: A world has other counts than expected, or cannot be read.
    """
    from recx.experiment.build import plan
    from recx.experiment.loading import load

    spec = request.selection.of(spec_of(content, found.file))
    chain = next(iter(spec.chains.values()))
    local = Local(None if request.data is None else Path(request.data).expanduser().absolute())
    for world, wanted in found.data.counts.items():
        if world not in spec.worlds:
            continue
        words = merged(spec.worlds[world], chain.overrides, request.overrides)
        loaded = load(plan(local.composed(words)).experiment.dataset, {})
        got = dict(zip(COUNTS, (loaded.n_users, loaded.n_items, len(loaded)), strict=True))
        for count, value in wanted.items():
            if got[count] != value:
                other = f"the world {world} has {got[count]:,} {count}, and {value:,} are expected"
                raise InputError(f"reproduce {found.name}: {other}: get its data from {found.data.where}")
