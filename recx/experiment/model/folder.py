"""The folder ``model/`` of a run: a chain as plain files, with a manifest of their sizes and hashes."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import sys
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

import yaml

from recx.config import factory
from recx.config.part_classes import locate
from recx.core.errors import InputError, RecxError
from recx.core.system.plain_files import check_plain, is_folder, read_text
from recx.core.system.serialize import plain
from recx.core.trackers import MODEL as MODEL  # the folder's name in that of a run
from recx.core.version import __version__
from recx.core.yaml_files import parse_yaml
from recx.experiment.model.chain import Chain
from recx.storage import values
from recx.storage.cache.keys import parts_of

Part = TypeVar("Part")
MANIFEST, CONFIG, CARD = "model.json", "config.yaml", "protocol.json"
FORMAT = 1
"""Version of the way in which chains are written; a higher one cannot be read."""
FARTHEST = 2**60
"""The farthest time in ms, with which sums and differences fit into int64."""


@dataclass(frozen=True, eq=False)
class Kept:
    """What a folder holds.

    Attributes:
        folder: The folder.
        chain: The chain.
        config: The configuration of its run.
        card: The protocol card of its run.
        about: The manifest: ``recx``, its version; ``made``, when; ``keep``; ``bytes``; ``files``; ``until``, the time
            in ms before which it has learned (see ``fitted_until``), None without times or in an older one.
    """

    folder: Path
    chain: Chain
    config: Mapping[str, Any]
    card: Mapping[str, Any]
    about: Mapping[str, Any]


def write(
    chain: Chain, folder: Path, config: Mapping[str, Any], card: Mapping[str, Any], until: int | None = None
) -> int:
    """Write a chain into a folder, under a temporary name until it is complete; return its size in bytes.

    Args:
        chain: The chain.
        folder: The folder, whose earlier content is replaced.
        config: The configuration of its run, without passwords.
        card: The protocol card of its run.
        until: The time in ms before which it has learned; None: the data has no times.

    Raises:
        NotStorableError: A part cannot be kept.
        OSError: The disk is full, or something else is wrong with it.
    """
    part, earlier = (folder.with_name(f".{folder.name}.{what}") for what in ("part", "earlier"))
    for left in (part, earlier):  # by a process that was killed
        shutil.rmtree(left, ignore_errors=True)
    part.mkdir(parents=True)
    try:
        values.write(chain, part, locate)
        _write(part / CONFIG, yaml.safe_dump(plain(config), sort_keys=False, allow_unicode=True))
        _write(part / CARD, json.dumps(plain(card), indent=2, ensure_ascii=False) + "\n")
        files = {path.relative_to(part).as_posix(): _state(path) for path in sorted(_files(part))}
        size = sum(size for size, _ in files.values())
        keep = "parts" if chain.known is None else "full"
        made = datetime.now(UTC).isoformat(timespec="seconds")
        about = {"format": FORMAT, "recx": __version__, "made": made, "keep": keep, "bytes": size, "files": files}
        about |= {"code": _code_of(chain), "until": until}
        _write(part / MANIFEST, json.dumps(about, indent=1, ensure_ascii=False) + "\n")
        if folder.exists():
            folder.rename(earlier)  # at once, so that no moment sees half of it
        part.rename(folder)
        shutil.rmtree(earlier, ignore_errors=True)
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return size


def read(folder: Path) -> Kept:
    """Return what a folder holds, after comparing every file with its hash; large arrays are mapped.

    Raises:
        InputError: There is no model, it is damaged, of a newer recx, or of a class that may not be made.
    """
    about = _about(folder)
    try:
        for name, state in about["files"].items():
            _check(folder, name, state)
        config = dict(parse_yaml(folder / CONFIG, read_text(folder / CONFIG)))
        card = dict(json.loads(read_text(folder / CARD)))
        for target in _own_targets([config.get(stage) for stage in ("retriever", "ranker", "reranker", "feature")]):
            factory.locate(target, "model")  # imports it, if the option files of the project name it
        chain = values.read(folder, locate)
        if not isinstance(chain, Chain):
            raise InputError(f"it holds a {type(chain).__name__}, which is no chain")
        now = _code_of(chain)
        edited = [name for name, code in dict(about.get("code", {})).items() if now.get(name) != code]
    except Exception as error:  # damaged files raise anything
        raise InputError(_unreadable(folder, about, error)) from error
    if edited:
        warnings.warn(
            f"{folder}: the code of {', '.join(edited)} has changed since the run, and the model answers with that of "
            "now, so its lists may be others than the run's: run the experiment again",
            stacklevel=2,
        )
    return Kept(folder, chain, config, card, about)


def fitted_parts_of(folder: Path, kind: type[Part]) -> list[Part]:
    """Return the parts of a class that a kept chain holds, also those inside other parts, each once.

    Args:
        folder: The folder ``model/`` of a run.
        kind: The class.

    Raises:
        InputError: As ``read`` does.
    """
    found: dict[int, Part] = {}

    def look(value: Any) -> None:
        if isinstance(value, kind):
            found[id(value)] = value
        elif isinstance(value, Mapping):
            look(list(value.values()))
        elif isinstance(value, list | tuple):
            for inner in value:
                look(inner)
        elif is_dataclass(value):
            look([getattr(value, one.name) for one in fields(value)])

    chain = read(folder).chain
    look([chain.retriever, chain.ranker])
    return list(found.values())


def _code_of(chain: Chain) -> dict[str, str]:
    """Return module -> hash of its source, of the modules of parts that are not recx's own."""
    modules = {type(part).__module__ for part in parts_of((chain.retriever, chain.ranker))}
    files = {name: getattr(sys.modules.get(name), "__file__", None) for name in sorted(modules) if name[:5] != "recx."}
    return {name: _state(Path(file))[1] for name, file in files.items() if file and Path(file).is_file()}


def _own_targets(config: Any) -> Iterator[str]:
    """Yield the classes that a configuration names and that are neither of recx nor of an installed plugin."""
    if isinstance(config, Mapping):
        target = config.get("_target_")
        if isinstance(target, str) and not factory.is_trusted(target.rpartition(".")[0]):
            yield target
        config = list(config.values())
    if isinstance(config, list):
        for inner in config:
            yield from _own_targets(inner)


def _unreadable(folder: Path, about: Mapping[str, Any], error: Exception) -> str:
    what = " ".join(str(error).split()) if isinstance(error, RecxError | OSError) else type(error).__name__
    made = "" if about["recx"] == __version__ else f"; recx {about['recx']} made it, and this is {__version__}"
    return f"{folder}: this model cannot be read ({what}{made}): run the experiment again"


def _about(folder: Path) -> dict[str, Any]:
    """Return the manifest of a folder (raises as ``read`` does)."""
    if not is_folder(folder) or not os.path.lexists(folder / MANIFEST):
        raise InputError(
            f"{folder} holds no model (no {MANIFEST}): name a run whose configuration has model=parts or model=full"
        )
    try:
        about = dict(json.loads(read_text(folder / MANIFEST)))
        if int(about["format"]) > FORMAT:
            raise InputError(
                f"{folder}: a newer recx ({about['recx']}) made this model: install that, or run the experiment again"
            )
        about["files"] = {str(name): (int(size), str(digest)) for name, (size, digest) in about["files"].items()}
        str(about["recx"]), str(about["keep"])
        about["until"] = None if about.get("until") is None else int(about["until"])
        if abs(about["until"] or 0) > FARTHEST:
            raise ValueError(about["until"])
    except InputError:
        raise
    except Exception as error:
        raise InputError(
            f"{folder / MANIFEST} is damaged ({type(error).__name__}): run the experiment again"
        ) from error
    return about


def _check(folder: Path, name: str, state: tuple[int, str]) -> None:
    """Raise InputError if a file of the manifest is missing, changed, or not a plain one inside the folder."""
    path = Path(name)
    if path.is_absolute() or path.drive or ".." in path.parts or not re.fullmatch(r"[\w./-]+", name):
        raise InputError(f"{name!r} is not the name of a file in it")
    if not all(is_folder(folder / above) for above in path.parents):
        raise InputError(f"{name} is missing")
    try:
        check_plain(folder / path)
        changed = _state(folder / path) != state
    except FileNotFoundError:
        raise InputError(f"{name} is missing") from None
    if changed:
        raise InputError(f"{name} has changed")


def _files(folder: Path) -> Iterator[Path]:
    return (path for path in folder.rglob("*") if path.is_file())


def _state(path: Path) -> tuple[int, str]:
    """Return the size of a file and the hash of its content."""
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=16)).hexdigest()
    return path.stat().st_size, digest


def _write(path: Path, text: str) -> None:
    with path.open("w", encoding="utf-8") as file:
        file.write(text)
