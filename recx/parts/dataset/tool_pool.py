"""A pool of tools, as ``tool_pool.json`` describes it (see ``tool_schemas``)."""

from __future__ import annotations

import math
from bisect import bisect
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from recx.core.abstaining import IS_ABSTAIN
from recx.core.errors import InputError, did_you_mean
from recx.core.types import Array, Doubles
from recx.parts.dataset.events import text_array
from recx.parts.dataset.tool_schemas import Tool, tools_of
from recx.storage.readers.json import read_json, shown


@dataclass(frozen=True, eq=False)
class ToolPool:
    """The tools that there are.

    Attributes:
        names: sorted, so that a tool's number does not reveal where it was used.
        texts: name and description of each tool.
        reliability: how reliable each tool is said to be, from 0 to 1, NaN if unknown [n]; None: nothing says it.
        notes: counts of what is unusual.
        abstain: name of the item that stands for no tool; None: there is none.
    """

    names: tuple[str, ...]
    texts: tuple[str, ...]
    reliability: Doubles | None = None
    notes: Mapping[str, float] = field(default_factory=dict)
    abstain: str | None = None

    @cached_property
    def number(self) -> dict[str, int]:
        """Name -> number."""
        return {name: number for number, name in enumerate(self.names)}

    @classmethod
    def of(cls, texts: Mapping[str, str]) -> ToolPool:
        """Return the pool of these tools, name -> text."""
        names = tuple(sorted(texts))
        return cls(names, tuple(texts[name] for name in names))

    @property
    def table(self) -> dict[str, Array]:
        """What is known of the tools, as columns of items [n each]."""
        columns = {"text": text_array(self.texts), "name": text_array(self.names)}
        if self.reliability is not None:
            columns["reliability"] = self.reliability
        if self.abstain is not None:
            columns[IS_ABSTAIN] = np.array([name == self.abstain for name in self.names], dtype=np.float32)
        return columns

    def abstaining(self, name: str) -> ToolPool:
        """Return the pool with an item that stands for no tool, which is added without a text if it is not there."""
        if name in self.number:
            return replace(self, abstain=name)
        at = bisect(self.names, name)
        return replace(
            self,
            names=(*self.names[:at], name, *self.names[at:]),
            texts=(*self.texts[:at], "", *self.texts[at:]),
            reliability=None if self.reliability is None else np.insert(self.reliability, at, np.nan),
            abstain=name,
        )

    @classmethod
    def read(cls, path: Path, reliability: str | None = None) -> ToolPool:
        """Return the pool of a file.

        Args:
            path: the file.
            reliability: the key under which a tool says how reliable it is; None: it is not read.

        Raises:
            InputError: the file cannot be used, it has no tools (see ``tools_of``), no tool has the key of reliability,
                or a value is not a number from 0 to 1.
        """
        return cls.described(tools_of(read_json(path), str(path)), reliability, path)

    @classmethod
    def described(cls, tools: Mapping[str, Tool], reliability: str | None, path: Path) -> ToolPool:
        """Return the pool of described tools, by name (arguments and errors as of ``read``)."""
        pool = cls.of({name: tool.text for name, tool in tools.items()})
        undescribed = sum(not tool.described for tool in tools.values())
        pool = replace(pool, notes={"tools_without_description": undescribed} if undescribed else {})
        return pool if reliability is None else pool._rated(tools, reliability, path)

    def _rated(self, tools: Mapping[str, Tool], key: str, path: Path) -> ToolPool:
        values = [_reliability(tools[name].record, key, f"{path}, tool {name!r}") for name in self.names]
        if all(math.isnan(value) for value in values):
            keys = dict.fromkeys(key for tool in tools.values() for key in tool.record)
            raise InputError(
                f"{path}: dataset.reliability={key}, and no tool has a value of this name: {did_you_mean(key, keys)}"
            )
        missing = {"tools_without_reliability": sum(map(math.isnan, values))}
        return replace(self, reliability=np.array(values), notes={**self.notes, **missing})


def _reliability(record: Mapping[str, Any], key: str, where: str) -> float:
    value = record.get(key)
    if value is None:
        return math.nan
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise InputError(
            f"{where}: its {key} is {shown(value)}, and dataset.reliability names numbers from 0 to 1: "
            "divide percentages by 100, and write null where it is unknown"
        )
    return float(value)


def refuse_made_up(reliability: str | None) -> None:
    """Refuse a key of reliability where the tools are made up.

    Raises:
        InputError: A key is named.
    """
    if reliability is not None:
        raise InputError(
            f"dataset.reliability={reliability} names a key of the tools of a file, and made-up tools have none: name "
            "their folder by dataset.path"
        )
