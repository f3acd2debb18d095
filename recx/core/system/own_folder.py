"""A folder that a run has to itself: it is new, empty, or holds only what an earlier run wrote there."""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from recx.core.errors import InputError
from recx.core.system.atomic import write_text
from recx.core.system.locks import turn

MARK, LOCK = ".recx", ".recx.lock"
"""The file that says what wrote a folder's files and which they are, and the lock while a run holds the folder."""
HYDRAS = (".hydra", "recx.log")
"""What Hydra writes into the folder of a run before the run starts, where it was asked to."""
OUTPUTS = "outputs"
"""The folder, below the working directory, of everything that recx writes unless it is told otherwise."""


@dataclass(frozen=True)
class OwnFolder:
    """The folder of a run, of a trial or of a benchmark.

    Attributes:
        path: The folder, which need not exist.
        names: The names of all files and folders that may be written there.
        of: What writes there; only what the same wrote earlier is replaced.
        setting: The setting that names the folder, for errors.
    """

    path: Path
    names: Collection[str]
    of: str = "a run"
    setting: str = "hydra.run.dir"

    def check(self) -> None:
        """Check that nothing would be lost or mixed up by writing there.

        Raises:
            InputError: The folder holds files that are not of an earlier run, or it would hold all others' output.
        """
        mark, where = _read(self.path), f"{self.setting}={self.path}"
        if Path(OUTPUTS).resolve().is_relative_to(self.path.resolve()):
            raise InputError(
                f"{where}: the cache and all other runs would lie in it: choose a folder that is new or empty"
            )
        if os.path.lexists(self.path) and not self.path.is_dir():
            raise InputError(f"{where}: it exists already and is not a folder: choose a folder that is new or empty")
        if mark and mark["of"] != self.of:
            raise InputError(f"{where}: it holds the files of {mark['of']}, not of {self.of}: choose another folder")
        foreign = [file for file in _files(self.path) if not self._is_own(file, mark.get("files", ()))]
        if foreign:
            more = f" and {len(foreign) - 3} more" if len(foreign) > 3 else ""
            raise InputError(
                f"{where}: it holds files that no run wrote there ({', '.join(foreign[:3])}{more}): choose a folder "
                "that is new or empty"
            )

    def clear(self) -> None:
        """Remove what an earlier run wrote there, and nothing else (raises as ``check`` does)."""
        self.check()
        for file in _files(self.path):
            if file.split("/")[0] not in (LOCK, *HYDRAS):
                (self.path / file).unlink(missing_ok=True)
        for name in self.names:
            _remove_empty(self.path / name)

    @contextmanager
    def held(self) -> Iterator[None]:
        """Let no other run write there inside the context; a folder that stays empty is removed at its end.

        Raises:
            InputError: Another run writes there, or as ``check`` does.
        """
        self.check()
        missing = [place for place in (self.path, *self.path.absolute().parents) if not place.exists()]
        with ExitStack() as stack:
            stack.callback(_remove, missing)
            try:
                stack.enter_context(turn(self.path / LOCK, wait=False))
            except BlockingIOError:
                raise InputError(
                    f"{self.setting}={self.path}: another run is writing there: choose another folder"
                ) from None
            except OSError:
                pass  # a disk without locks; where it cannot be written to, the first file says so
            yield

    def begin(self) -> None:
        """Replace what an earlier run wrote by a mark: until ``seal``, the folder holds no finished run."""
        self.clear()
        self.path.mkdir(parents=True, exist_ok=True)
        self._mark(False, self.names)

    def seal(self) -> None:
        """Note that the run is complete, and which files it wrote."""
        self._mark(True, [file for file in _files(self.path) if file not in (MARK, LOCK)])

    def _mark(self, finished: bool, files: Collection[str]) -> None:
        content = {"of": self.of, "finished": finished, "files": sorted(files)}
        write_text(self.path / MARK, json.dumps(content, ensure_ascii=False) + "\n")

    def _is_own(self, file: str, listed: Collection[str]) -> bool:
        first, name = file.split("/")[0], file.rpartition("/")[2]
        if first in (MARK, LOCK, f".{MARK}.part", *HYDRAS):
            return True
        whole = name.removeprefix(".").removesuffix(".part") if name.endswith(".part") else name
        return bool({file, first, file.removesuffix(name) + whole}.intersection(listed))


def is_unfinished(folder: Path) -> bool:
    """Return whether the mark of a folder says that what wrote there has not finished."""
    return _read(folder).get("finished", True) is not True


def is_finished(folder: Path) -> bool:
    """Return whether a folder holds a finished run; where it has no mark, ``metrics.json`` says so."""
    return (folder / "metrics.json").is_file() and not is_unfinished(folder)


def _read(folder: Path) -> Mapping[str, Any]:
    """Return the mark of a folder; {} where it has none, or none of ours."""
    try:
        mark = json.loads((folder / MARK).read_text(encoding="utf-8"))
        return {"of": str(mark["of"]), "finished": mark["finished"], "files": [str(file) for file in mark["files"]]}
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return {}


def _files(folder: Path) -> list[str]:
    """Return the paths of all files and links in a folder, relative to it; links are not followed."""

    def cannot(error: OSError) -> None:
        raise InputError(
            f"{error.filename} cannot be read ({error.strerror}): correct its permissions, or choose another folder"
        )

    found = []
    for where, folders, files in os.walk(folder, onerror=cannot) if folder.is_dir() else ():
        links = [name for name in folders if Path(where, name).is_symlink()]
        found += [Path(where, name).relative_to(folder).as_posix() for name in (*files, *links)]
    return sorted(found)


def _remove_empty(folder: Path) -> None:
    """Remove a folder and those in it that hold no file."""
    if folder.is_dir() and not folder.is_symlink():
        for where, _, _ in os.walk(folder, topdown=False):
            with suppress(OSError):
                Path(where).rmdir()


def _remove(folders: Collection[Path]) -> None:
    """Remove folders that are empty, the innermost first."""
    for folder in folders:
        with suppress(OSError):
            folder.rmdir()
