"""A pool of tools, as ``tool_pool.json`` describes it: {"tools": {name: {description, inputs}}}."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from recx.core.errors import InputError
from recx.storage.readers.json import entry, read_json


@dataclass(frozen=True, eq=False)
class ToolPool:
    """The tools that there are.

    Attributes:
        names: sorted, so that a tool's number does not reveal where it was used.
        texts: name and description of each tool.
    """

    names: tuple[str, ...]
    texts: tuple[str, ...]

    @cached_property
    def number(self) -> dict[str, int]:
        """Name -> number."""
        return {name: number for number, name in enumerate(self.names)}

    @classmethod
    def of(cls, texts: Mapping[str, str]) -> ToolPool:
        """Return the pool of these tools, name -> text."""
        names = tuple(sorted(texts))
        return cls(names, tuple(texts[name] for name in names))

    @classmethod
    def read(cls, path: Path) -> ToolPool:
        """Return the pool of a file.

        Raises:
            InputError: the file cannot be used, it has no tools, or a name appears twice.
        """
        tools = entry(read_json(path), "tools", dict, str(path))
        if not tools:
            raise InputError(f"{path}: 'tools' is empty: provide at least one tool")
        return cls.of({name: _text(name, tool, f"{path}, tool {name!r}") for name, tool in tools.items()})


def _text(name: str, tool: Any, where: str) -> str:
    description = entry(tool, "description", str, where)
    inputs = tool.get("inputs", "")
    return text_of_tool(name, description, inputs)


def text_of_tool(name: str, description: str, inputs: Any) -> str:
    """Return the text that stands for a tool: the words of its name, its description, and its inputs, text or JSON."""
    text = inputs if isinstance(inputs, str) else json.dumps(inputs, ensure_ascii=False)
    return " ".join(filter(None, (words_of_name(name), description, text)))


def words_of_name(name: str) -> str:
    """Return a tool's name with blanks between its words: ``sendSMS_to`` -> ``send SMS to``."""
    return " ".join(re.sub(r"(?<=[a-z0-9])(?=[A-Z])|[_-]", " ", name).split())
