"""Makes the environments that plugins declare for other libraries, in a file ``bridges.toml`` of their package.

[rectools]
about = "SASRec, BERT4Rec, EASE"
requires = ["RecTools==0.19.0", "torch==2.13.0"]
python = "3.10 to 3.12"
"""

from __future__ import annotations

import json
import re
import shutil
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

from recx.config import option_sources
from recx.core.environments import MARK, folder_of
from recx.core.errors import InputError, RecxError, did_you_mean
from recx.core.progress import bar
from recx.core.system import child
from recx.core.system.atomic import write_text
from recx.core.system.locks import turn
from recx.core.system.plain_files import read_text
from recx.parts.shared.program import passed_on

FILE = "bridges.toml"
VERSION = ("-c", "import sys; print('%d.%d' % sys.version_info[:2])")
"""Arguments by which a Python, also one of long ago, says its version."""


def bridges() -> dict[str, Bridge]:
    """Return what the installed plugins declare, by name.

    Raises:
        InputError: Two plugins declare the same library.
    """
    found = dict[str, Bridge]()
    for source in option_sources.packages():
        file = source.conf.parent / FILE
        declared = tomllib.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
        for name, of in declared.items():
            if name in found:
                raise InputError(f"{file}: another plugin has the library {name!r} too: uninstall one of them")
            found[name] = Bridge(name, of["about"], tuple(of["requires"]), of["python"])
    return found


def bridge(name: str) -> Bridge:
    """Return what a plugin declares of a library.

    Raises:
        InputError: None does.
    """
    known = bridges()
    if name not in known:
        hint = did_you_mean(name, known) if known else "install a plugin that has some, such as recx-bridges"
        raise InputError(f"recx bridge: there is no library {name!r}: {hint}")
    return known[name]


@dataclass(frozen=True)
class Bridge:
    """What a plugin declares of a library.

    Attributes:
        name: The name of the library, of its environment and of the option that uses it.
        about: What it has, in a few words.
        requires: The requirements for pip, with their versions.
        python: The versions of Python that it runs on, as in ``3.10 to 3.12``.
    """

    name: str
    about: str
    requires: tuple[str, ...]
    python: str

    @property
    def state(self) -> str:
        """``ready``, ``outdated`` where others were installed than are required now, or ``missing``."""
        try:
            installed = json.loads(read_text(folder_of(self.name) / MARK, own=True))["requires"]
        except (OSError, ValueError, KeyError, TypeError, InputError):
            return "missing"
        return "ready" if installed == list(self.requires) else "outdated"

    def set_up(self, python: str | None = None) -> Path:
        """Make the environment anew, and return its folder; nothing is left of one that could not be made.

        Args:
            python: The Python to make it with; None: the one that runs.

        Raises:
            InputError: There is no such Python, or the library does not run on it.
            RecxError: The environment cannot be made; what pip says is in the message.
        """
        folder, program = folder_of(self.name), self._program(python)
        folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with turn(folder.with_name(f".{self.name}.lock")):
            try:
                _remove(folder)
                self._step([program, "-m", "venv", str(folder)])
                pip = [str(folder / "bin" / "python"), "-m", "pip", "install", "--disable-pip-version-check"]
                self._step([*pip, *self.requires])
                write_text(folder / MARK, json.dumps({"requires": list(self.requires)}) + "\n")
            except BaseException:
                _remove(folder)
                raise
        return folder

    def _program(self, python: str | None) -> str:
        """Return the path of the Python to use (raises InputError as ``set_up`` does)."""
        program, way_out = shutil.which(python or sys.executable), f"name a Python of {self.python} with --python"
        if program is None:
            raise InputError(f"--python={python}: there is no such program: {way_out}")
        ended = child.run([program, *VERSION], passed_on(), None, lambda line: None)
        version = " ".join(ended.lines)
        if ended.code != 0 or not re.fullmatch(r"\d+\.\d+", version):
            raise InputError(f"--python={python}: it is no Python: {way_out}")
        lowest, highest = (_numbers(one) for one in self.python.split(" to "))
        if not lowest <= _numbers(version) <= highest:
            raise InputError(
                f"recx bridge setup {self.name}: {program} is Python {version}, and {self.requires[0]} and what "
                f"it needs run on {self.python}: {way_out}"
            )
        return program

    def _step(self, command: list[str]) -> None:
        with bar() as show:
            ended = child.run(command, passed_on(), None, lambda line: show(0.0, line))
        if ended.code != 0:
            said = " | ".join(ended.lines[-5:])
            raise RecxError(
                f"recx bridge setup {self.name}: {' '.join(command[1:4])} failed ({said}): mend it, or choose another "
                f"Python of {self.python} with --python"
            )


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))


def _remove(folder: Path) -> None:
    """Remove an environment, its mark first: what an interruption leaves is none.

    Raises:
        RecxError: Something in it cannot be removed.
    """
    try:
        (folder / MARK).unlink(missing_ok=True)
        if folder.exists():
            shutil.rmtree(folder)
    except OSError as error:
        raise RecxError(
            f"{error.filename}: it cannot be removed ({error.strerror}): remove {folder} yourself"
        ) from error
