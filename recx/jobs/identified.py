"""Says what a file or folder seems to be, and which overrides read it, where a command line names no dataset."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from recx.config import option_sources
from recx.config.overrides import exact, given
from recx.core.errors import InputError
from recx.core.yaml_files import parse_yaml
from recx.jobs.frames import SETTINGS
from recx.storage.readers.in_memory import IN_MEMORY

if TYPE_CHECKING:
    from recx.parts.dataset.recognised_files import Known
    from recx.parts.dataset.table_guess import Guess

PATH = "dataset.path"
ROLES = ("user", "item", "time", "weight")
SAID = ("user", "item", "time", "weight", "time_unit", "order", "delimiter")
"""Settings of ``Table`` that say how to take a file of no known format."""


@dataclass(frozen=True)
class Identified:
    """What a file or folder is taken for.

    Attributes:
        overrides: What a run on it needs.
        what: What it seems to be.
        roles: ``user``, ``item``, ``time`` and ``weight`` -> what it is in the data.
        guess: What was read to see it, if it is of no known format.
    """

    overrides: list[str]
    what: str
    roles: Mapping[str, str]
    guess: Guess | None = None

    @property
    def text(self) -> str:
        """What it seems to be, and what plays which part."""
        return f"It seems to be {self.what}." + "".join(f"\n  {role:<6} {what}" for role, what in self.roles.items())

    @property
    def command(self) -> str:
        """The command line of a run; of a data frame in memory, the call from Python."""
        frames = [text for text in self.overrides if IN_MEMORY in text]
        if frames:
            arguments = [name for name, setting in SETTINGS.items() if f"dataset.{setting}=" in " ".join(frames)]
            words = [text for text in self.overrides if text not in frames]
            return f"recx.run({words}, {', '.join(f'{name}=...' for name in arguments)})"
        return shlex.join(["python", "-m", "recx", *self.overrides])


def identified(overrides: Sequence[str]) -> Identified | None:
    """Return what ``dataset.path`` is; None: there is no path, or a dataset or experiment is named.

    Raises:
        InputError: The path cannot be read, or be taken in two ways.
    """
    said = given(overrides)
    if said.get(PATH) is None or {"dataset", "experiment"} & said.keys():
        return None

    from recx.parts.dataset.files import expand_home
    from recx.parts.dataset.recognised_files import known_as
    from recx.parts.dataset.table_guess import Given, guess
    from recx.storage.readers.content import is_folder
    from recx.storage.readers.file_sets import files_of

    named = said[PATH]
    at = expand_home(named) if isinstance(named, str) else None
    if at is not None and is_folder(at) and (known := known_as(at)) is not None:
        return _of_known(known, overrides)
    files = files_of(named, PATH)
    if len({"".join(path.suffixes) for path in files.paths}) > 1:
        raise InputError(
            f"{files.name.parent}: none of its files is of a known format, and they are not parts of one table: name "
            f"the file of the events, or a pattern, such as {PATH}='{files.name.parent}/*{files.paths[0].suffix}' "
            "(python -m recx help own-data)"
        )
    if len(files.paths) == 1 and (known := known_as(files.paths[0])) is not None:
        return _of_known(known, overrides)
    about = {name: said[f"dataset.{name}"] for name in SAID if f"dataset.{name}" in said}
    values = {name: "none" if value is None else str(value) for name, value in about.items()}
    return _of_guess(guess(files.paths[0], Given(values, flags=False)), overrides)


def _of_known(known: Known, overrides: Sequence[str]) -> Identified:
    known_format, more = known.format, known.settings
    option = [] if known_format.dataset == known_format.experiment else [f"dataset={known_format.dataset}"]
    # a folder's one file of events is named, unless the format is that of the folder
    path = [] if PATH in dict(more) else [exact(PATH, str(known.path))]
    own = [text for text in overrides if not text.startswith(f"{PATH}=")]
    words = [f"+experiment={known_format.experiment}", *option, *path, *own]
    what = f"{known_format.what} (dataset={known_format.dataset})"
    return Identified(_completed(words, dict(more)), what, known_format.roles or _columns(known))


def _completed(words: Sequence[str], settings: Mapping[str, Any]) -> list[str]:
    """Return overrides and, after them, settings that they do not give."""
    keys = {word.partition("=")[0] for word in words}
    return [*words, *(exact(key, value) for key, value in settings.items() if key not in keys)]


def _columns(known: Known) -> dict[str, str]:
    """Return the columns of a preset of ``Table``, with what the first row of a file without a header has there."""
    from recx.parts.dataset.table import Table
    from recx.storage.readers.names import TIMES, recognised

    option = option_sources.options()[f"dataset/{known.format.dataset}"][1]
    settings = parse_yaml(option, option.read_text(encoding="utf-8"))
    found = {}
    for role in ROLES:
        column = settings.get(role, getattr(Table, role))
        if isinstance(column, int):
            found[role] = f"column {column}, such as {known.columns[column]}"
        elif column == "auto":
            named = recognised(TIMES, known.columns) if role == "time" else []
            found |= {role: named[0]} if named else {}
        elif column is not None:
            found[role] = str(column)
    return found


def _of_guess(guess: Guess, overrides: Sequence[str]) -> Identified:
    table = guess.table
    settings: dict[str, Any] = {
        f"dataset.{one.name}": getattr(table, one.name)
        for one in fields(table)
        if one.name != "path" and getattr(table, one.name) != one.default
    }
    roles = {role: str(name) for role in ROLES if (name := getattr(table, role))}
    for role in roles:
        about = guess.seen.get("time_unit" if role == "time" else role, "")
        roles[role] += f" ({about})" if about else ""
    words = _completed(["+experiment=table", *overrides], settings)
    return Identified(words, "a table with a row per event (dataset=table)", roles, guess)
