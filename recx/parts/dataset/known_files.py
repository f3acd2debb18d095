"""The formats of well-known data, what their files look like, and their published counts: ``known_files.toml``."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

TRIED_OTHERWISE = {"movielens"}
"""Datasets that were tried on a real file of a format that another one is named for: RecBole's .inter of 100K."""


@dataclass(frozen=True)
class Published:
    """What the source of some data says of its size.

    Attributes:
        data: The name of the data.
        source: Where the counts are published.
        counts: ``users``, ``items``, ``events`` or ``rows`` (of candidate lists) -> how many.
    """

    data: str
    source: str
    counts: Mapping[str, int]


@dataclass(frozen=True)
class Format:
    """A format of well-known data. One of ``header``, ``keys``, ``row`` and ``line`` says what a file looks like.

    Attributes:
        what: What the data is, for people.
        dataset: The option of the dataset that reads it.
        experiment: The option of the experiment.
        settings: Further overrides, in which ``{path}`` is the folder.
        beside: Setting -> the ending of the file beside this one that it names, where there is one.
        tried: Whether it has been tried on a real file.
        names: Patterns of the names of such files, unpacked; none: any name.
        folder: Patterns of files that a folder holds together, the one that ``line`` and the others are about first.
            The path is then that of the folder.
        delimiter: What separates the columns, for ``header`` and ``row``.
        header: The columns that the first line names, all of them.
        keys: Columns of JSON, Parquet or Arrow, others may stand between them.
        row: A pattern for each column of a file without a header.
        line: A pattern of each line.
        roles: ``user``, ``item``, ``time`` and ``weight`` -> what it is, where no setting of ``Table`` says it.
        published: Data in this format whose counts are published.
    """

    what: str
    dataset: str
    experiment: str = "table"
    settings: tuple[str, ...] = ()
    beside: Mapping[str, str] = field(default_factory=dict)
    tried: bool = False
    names: tuple[str, ...] = ()
    folder: tuple[str, ...] = ()
    delimiter: str = ","
    header: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    row: tuple[str, ...] = ()
    line: str = ""
    roles: Mapping[str, str] = field(default_factory=dict)
    published: tuple[Published, ...] = ()


@cache
def formats() -> Mapping[str, Format]:
    """Return all formats by name; one that a dataset of its own reads is called like the dataset."""
    text = Path(__file__).with_name("known_files.toml").read_text(encoding="utf-8")
    return {name: _format(name, said) for name, said in tomllib.loads(text).items()}


def untried() -> set[str]:
    """Return the options of datasets none of whose formats has been tried on a real file."""
    known = formats().values()
    return {one.dataset for one in known} - {one.dataset for one in known if one.tried} - TRIED_OTHERWISE


def _format(name: str, said: Mapping[str, Any]) -> Format:
    plain: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in said.items()}
    published = [
        Published(one["data"], one["source"], {key: n for key, n in one.items() if key not in ("data", "source")})
        for one in said.get("published", ())
    ]
    settings: dict[str, Any] = {"dataset": name, **plain, "published": tuple(published)}
    return Format(**settings)
