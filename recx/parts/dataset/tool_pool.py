"""A pool of tools, as ``tool_pool.json`` describes it: {"tools": {name: {description, inputs}}}."""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from recx.core.errors import InputError
from recx.storage.readers.json import entry, read_json
from recx.storage.readers.tables import is_folder


@dataclass(frozen=True, eq=False)
class ToolPool:
    """names: sorted, so that a tool's number says nothing of where it was used. texts: what each tool is."""

    names: tuple[str, ...]
    texts: tuple[str, ...]

    @cached_property
    def number(self) -> dict[str, int]:
        """Name -> number."""
        return {name: number for number, name in enumerate(self.names)}

    @classmethod
    def of(cls, texts: dict[str, str]) -> ToolPool:
        """Return the pool of these tools, name -> text."""
        names = tuple(sorted(texts))
        return cls(names, tuple(texts[name] for name in names))

    @classmethod
    def read(cls, path: Path) -> ToolPool:
        """Return the pool of a file.

        Raises:
            InputError: the file cannot be used, it has no tools, or a name stands twice.
        """
        tools = entry(read_json(path), "tools", dict, str(path))
        if not tools:
            raise InputError(f"{path}: 'tools' is empty: give at least one tool")
        return cls.of({name: _text(name, tool, f"{path}, tool {name!r}") for name, tool in tools.items()})


def _text(name: str, tool: Any, where: str) -> str:
    description = entry(tool, "description", str, where)
    inputs = tool.get("inputs", "")
    said = inputs if isinstance(inputs, str) else json.dumps(inputs, ensure_ascii=False)
    return " ".join(part for part in (words_of_name(name), description, said) if part)


def words_of_name(name: str) -> str:
    """Return a tool's name with blanks between its words: ``sendSMS_to`` -> ``send SMS to``."""
    return " ".join(re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name).replace("_", " ").replace("-", " ").split())


def file_of(folder: Path, name: str) -> Path | None:
    """Return what stands in a folder under this name, plain or gzipped, be it a link to nowhere; None: nothing.

    Raises:
        InputError: the path names no folder.
    """
    if not is_folder(folder):
        what = "a file" if folder.exists() else "no such folder"
        raise InputError(f"dataset.path={folder} is {what}: name the folder that holds {name}")
    return next((path for path in (folder / name, folder / f"{name}.gz") if os.path.lexists(path)), None)
