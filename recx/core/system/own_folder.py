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
from recx.core.system.atomic import final_name, write_text
from recx.core.system.locks import turn
from recx.core.system.plain_files import read_text

MARK, LOCK = ".recx", ".recx.lock"
"""The file that says what wrote a folder's files and which they are, and the lock while a run holds the folder."""
HYDRAS = (".hydra", "recx.log")
"""What Hydra writes into the folder of a run before the run starts, where it was asked to."""
HOMES = ("cache", "fetched", "sweeps", "studies", "replays", "reports", "mlflow.db", "mlflow-artifacts")
"""What lies in the folder of everything, and is no folder of a run."""
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

    def check_chosen(self) -> None:
        """Check a folder that a person names, before Hydra writes there (raises as ``check`` does)."""
        place = self.path.resolve()
        for home in HOMES:
            if place.is_relative_to((Path(OUTPUTS) / home).resolve()):
                raise InputError(
                    f"{self.setting}={self.path}: {OUTPUTS}/{home} holds other things than runs: choose a folder that "
                    "is new or empty"
                )
        self.check(hydra=False)

    def check(self, *, hydra: bool = True) -> None:
        """Check that nothing would be lost or mixed up by writing there.

        Args:
            hydra: Whether Hydra may have written there for this run already.

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
        listed = mark.get("files", ())
        if mark and mark["folder"] != self.path.stat().st_ino:  # a copy, perhaps of a stranger's
            listed = [file for file in listed if file.split("/")[0] in self.names]
        hydra = hydra or bool(mark) or (self.path / LOCK).is_file()
        foreign = [file for file in _files(self.path) if not self._is_own(file, listed, hydra)]
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
        self._mark(True, files_of_run(self.path))

    def add(self, path: Path) -> None:
        """Note one more file or folder that the run wrote there, such as that of a plugin's report."""
        place, folder = path.resolve(), self.path.resolve()
        if place.is_relative_to(folder) and place != folder:
            self._mark(False, {*self.names, place.relative_to(folder).parts[0]})

    def _mark(self, finished: bool, files: Collection[str]) -> None:
        folder = self.path.stat().st_ino
        content = {"of": self.of, "finished": finished, "folder": folder, "files": sorted(files)}
        write_text(self.path / MARK, json.dumps(content, ensure_ascii=False) + "\n")

    def _is_own(self, file: str, listed: Collection[str], hydra: bool) -> bool:
        first, name = file.split("/")[0], file.rpartition("/")[2]
        if final_name(first) in (MARK, LOCK, *HYDRAS):
            return (hydra or first not in HYDRAS) and not (self.path / file).is_symlink()
        whole = file.removesuffix(name) + final_name(name)  # a killed run leaves files that are not complete
        return bool({file, first, whole}.intersection(listed))


def files_of_run(folder: Path) -> list[str]:
    """Return the paths, relative to a folder, of the files that a run wrote there; of all where it has no mark."""
    mark = _read(folder)
    listed = {file.split("/")[0] for file in (*mark.get("files", ()), *HYDRAS)}
    files = [file for file in _files(folder) if file not in (MARK, LOCK)]
    return [file for file in files if not mark or file.split("/")[0] in listed]


def is_unfinished(folder: Path) -> bool:
    """Return whether the mark of a folder says that what wrote there has not finished."""
    return _read(folder).get("finished", True) is not True


def is_finished(folder: Path) -> bool:
    """Return whether a folder holds a finished run; where it has no mark, ``metrics.json`` says so."""
    return (folder / "metrics.json").is_file() and not is_unfinished(folder)


def _read(folder: Path) -> Mapping[str, Any]:
    """Return the mark of a folder; {} where it has none, or none of ours."""
    try:
        mark = json.loads(read_text(folder / MARK))
        files = [str(file) for file in mark["files"]]
        return {"of": str(mark["of"]), "finished": mark["finished"], "folder": mark.get("folder"), "files": files}
    except (InputError, OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
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
