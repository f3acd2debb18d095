"""A program of another environment that is a part: its command, what it depends on, and how it is run.

It gets a folder with files, and leaves its answer there: see ``recx.parts.shared.program_files`` and
docs/how-to/external.md.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shlex
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, ClassVar
from weakref import finalize

from recx.core.bounds import Seed
from recx.core.errors import InputError, RecxError
from recx.core.kept_parts import NotKept
from recx.core.progress import bar
from recx.core.project import check_command
from recx.core.seen_events import UNKNOWN_EVENTS
from recx.core.system import child
from recx.core.system.durations import Duration, milliseconds
from recx.core.system.threads import available

CONTRACT = 1
"""Version of the files, which ``settings.json`` names."""
SETTINGS = "settings.json"
LONGEST = 200
"""Characters of a command that are shown."""
NOT_PASSED_ON = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")
"""Variables that would have another Python import the packages of this one."""
NOT_KEPT = NotKept("what an external program has learnt, which is this run's alone", "external")
"""Why a part that runs a program is not kept: whoever changes its files would choose what runs, and what it reads."""
SECRETS = "RECX_SECRET_"
"""How variables with passwords of this command line begin."""
_IMPORTED = re.compile(r"^\s*(?:import|from)\s+(\w+)", re.MULTILINE)
_DONE = re.compile(r"(\d+)\s*/\s*(\d+)|(\d+(?:\.\d+)?)\s*%")


@dataclass(frozen=True)
class Program:
    """A command with its settings.

    Attributes:
        key: The setting that holds the command, for errors.
        command: The program and its arguments; the folder follows them.
        settings: What it gets in ``settings.json`` besides.
        seed: Seed of its random numbers.
        timeout: The longest time that each of its runs may take; None: any.
    """

    key: str
    command: tuple[str, ...] | None
    settings: Mapping[str, Any] = field(default_factory=dict)
    seed: int = 0
    timeout: str | None = None
    not_kept: ClassVar = NOT_KEPT

    def check(self) -> None:
        """Check that the program is there and may be run.

        Raises:
            InputError: No command is set, nobody here named it, or there is no such program.
        """
        if not self.command:
            raise InputError(f"{self.key} is not set: name a program and its arguments, {self.key}=[python,model.py]")
        try:
            check_command(self.command)
        except InputError as error:
            raise InputError(f"{self.key}=[{','.join(self.command)}]: {error}") from None
        if self.place is None:
            raise InputError(f"{self.key}: there is no program {self.command[0]!r}: give its path, or put it on PATH")

    @property
    def place(self) -> Path | None:
        """Where the program is; None if it is nowhere. The link to a Python stays, since it tells the environment."""
        found = shutil.which(os.path.expanduser(self.command[0])) if self.command else None  # noqa: PTH111
        return None if found is None else Path(found).absolute()

    @property
    def name(self) -> str:
        """The command as one line of moderate length."""
        line = " ".join(shlex.join(self.command or ()).split())
        return line if len(line) <= LONGEST else f"{line[: LONGEST - 1]}…"

    @property
    def scripts(self) -> tuple[Path, ...]:
        """The files among its arguments."""
        return tuple(path for word in (self.command or ())[1:] if (path := Path(word)).is_file())

    @property
    def packages(self) -> tuple[str, ...]:
        """The packages of its environment and their versions, ``name-1.0``; () for a program without a Python."""
        place = self.place
        if place is None:
            return ()
        root = place.parent.parent
        if not (root / "pyvenv.cfg").is_file() and not place.name.startswith("python"):
            return ()
        found = root.glob("lib/python*/*-packages/*.dist-info")
        return (place.resolve().name, *sorted(path.name.removesuffix(".dist-info") for path in found))

    @property
    def depends_on(self) -> tuple[object, ...]:
        """What its lists depend on besides its settings: itself, its scripts and its environment."""
        return (*(() if self.place is None else (self.place,)), *self.scripts, self.packages)

    @property
    def loaded(self) -> dict[str, Any]:
        """What the protocol card says of it."""
        digest, imported = hashlib.blake2b(repr(self.packages).encode(), digest_size=8), set[str]()
        for script in self.scripts:
            with suppress(OSError):
                content = script.read_bytes()
                digest.update(content)
                imported.update(_IMPORTED.findall(content.decode("utf-8", "replace")))
        pairs = (package.rpartition("-") for package in self.packages[1:])
        versions = {name: version for name, _, version in pairs if name.lower() in imported}
        made = {"from": self.name, "seen": UNKNOWN_EVENTS}
        return {**made, "digest": digest.hexdigest(), **({"versions": versions} if versions else {})}

    def run(self, folder: Path, task: str, model: Path, **more: Any) -> None:
        """Run the program on a folder, and show the last line of its output meanwhile.

        Args:
            folder: The folder with its files.
            task: What it is to do.
            model: The folder in which it may keep what it learns.
            **more: What ``settings.json`` says besides.

        Raises:
            InputError: It cannot be started.
            RecxError: It fails, or takes too long.
        """
        place = self.place
        assert place is not None
        assert self.command is not None
        told = {"contract": CONTRACT, "task": task, "model": str(model), "seed": self.seed, "threads": available()}
        text = json.dumps({**told, **more, "settings": self.settings}, ensure_ascii=False, indent=2)
        (folder / SETTINGS).write_text(text, encoding="utf-8")
        seconds = None if self.timeout is None else milliseconds(self.timeout, "timeout") / 1000
        try:
            with bar() as show:
                done = 0.0

                def line(text: str) -> None:
                    nonlocal done
                    done = _share(text, done)
                    show(done, text)

                ended = child.run([str(place), *self.command[1:], str(folder)], passed_on(), seconds, line)
        except OSError as error:
            raise InputError(
                f"{self.key}: {place} cannot be started ({error.strerror}): correct the command"
            ) from error
        if ended.code != 0:
            group = re.split("[.=]", self.key)[0]
            how = f"ended with the code {ended.code}"
            if ended.code is None:
                how = f"was stopped after {self.timeout} ({group}.timeout)"
            elif ended.code < 0:
                how = f"was killed by the signal {-ended.code}"
            said = " | ".join(ended.lines) or "nothing"
            raise RecxError(f"{self.key}: {self.name} {how} at the task {task}; the end of its output: {said}")


@dataclass(frozen=True)
class RunsProgram:
    """The settings of a part that runs a program (docs/how-to/external.md), and what follows from them.

    Nothing but this command line, or an option file of the person's own project, can name the command (see
    ``recx.core.project.check_command``).

    Attributes:
        command: The program and its arguments, without a shell; the folder with the files follows them.
        settings: Settings of the program, which it finds in ``settings.json``.
        uses: Files and folders that the program reads besides the files among its arguments; for the stage cache, they
            count by content.
        timeout: The longest time that a run of the program may take; None: any.
        seed: Seed of the program's random numbers.
    """

    command: tuple[str, ...] | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    uses: tuple[str, ...] = ()
    timeout: Duration | None = None
    seed: Seed = 0
    stage: ClassVar[str]
    files: ClassVar = ("uses",)
    not_kept: ClassVar = NOT_KEPT

    @property
    def _program(self) -> Program:
        return Program(f"{self.stage}.command", self.command, self.settings, self.seed, self.timeout)

    @property
    def depends_on(self) -> tuple[object, ...]:
        """What counts for the stage cache: the program, its scripts and the packages of its environment."""
        return self._program.depends_on

    @property
    def loaded(self) -> dict[str, Any]:
        """What the protocol card says of the program."""
        return self._program.loaded

    def preflight(self) -> None:
        """Check that the program is there and may be run (raises as ``Program.check`` does)."""
        self._program.check()


class Workplace:
    """A folder of a program's own, for this user alone, which is removed with this object, but not after an error.

    Many libraries read back what they learnt as pickle, which runs what it reads. So a task begins only if all that the
    program keeps is as its last task left it.

    Attributes:
        folder: The folder.
        model: The folder in it where the program keeps what it learns.
    """

    def __init__(self) -> None:
        self.folder = Path(mkdtemp(prefix="recx-external-"))
        self.model = self.folder / "model"
        self.model.mkdir()
        self._left = _digest(self.model)
        self._removed = finalize(self, shutil.rmtree, self.folder, ignore_errors=True)

    def __reduce__(self) -> tuple[Any, ...]:
        raise InputError("an external program runs on this machine, from this run alone: choose engine=local")

    @contextmanager
    def task(self) -> Iterator[Path]:
        """Yield a folder for the files of one task.

        Raises:
            RecxError: What failed inside, with the folder, which is left to look at; or what the program keeps is not
                what it left.
        """
        if _digest(self.model) != self._left:
            raise RecxError(
                f"{self.model}: something else has changed what the program learnt, so it is not read: run it again"
            )
        folder = Path(mkdtemp(prefix="task-", dir=self.folder))
        try:
            yield folder
        except RecxError as error:
            self._removed.detach()
            raise type(error)(f"{error}; its files are left in {folder}") from error
        self._left = _digest(self.model)
        shutil.rmtree(folder, ignore_errors=True)


def _digest(folder: Path) -> str:
    """Return the digest of the names and contents of all files below a folder."""
    found = hashlib.blake2b()
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        with path.open("rb") as file:
            content = hashlib.file_digest(file, "blake2b").digest()
        found.update(os.fsencode(path.relative_to(folder)) + b"\0" + content)
    return found.hexdigest()


def passed_on() -> dict[str, str]:
    """Return the environment variables that a program of another environment gets."""
    own = (*NOT_PASSED_ON, *(name for name in os.environ if name.startswith(SECRETS)))
    return {name: value for name, value in os.environ.items() if name not in own}


def _share(line: str, before: float) -> float:
    """Return the share that is done by a line of output such as ``epoch 3/10`` or ``45%``, or else that from before."""
    found = _DONE.search(line)
    if found is None:
        return before
    share = float(found[3]) / 100 if found[3] else int(found[1]) / max(1, int(found[2]))
    return share if share <= 1 else before
