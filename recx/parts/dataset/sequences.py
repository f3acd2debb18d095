"""One line per user: the user, then the items, oldest first, separated by blanks (S3-Rec's format).

A header is recognised by its words: RecBole's ``user_id:token item_id_list:token_seq item_id:token``, or plain names
such as ``user items``.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from io import StringIO
from pathlib import Path
from typing import ClassVar

import numpy as np

from recx.core.bounds import Seed, checked
from recx.core.entities import Entities
from recx.core.errors import InputError
from recx.core.event_order import EventOrder, rows_in_order
from recx.core.ragged import indptr_of
from recx.core.types import Array, Interactions, Longs
from recx.parts.dataset.events import interactions_of
from recx.parts.dataset.files import expand_home, read_text, require_path
from recx.parts.dataset.own_folds import joined
from recx.storage.readers.columns import ids_of

TYPED = re.compile(r"\w+:(token|float)(_seq)?")
"""A column in a header of RecBole."""
USER = re.compile("(user|session)(_?id)?|uid", re.IGNORECASE)
MARKED = re.compile(r"(^| )([\[{(].*[\]})]|(\"[^ ]*\"|'[^ ]*'))($|[ ,;])|[^ ][,;]( |$)")
"""Lists of Python or JSON, ids in quotes, or commas behind ids."""
MANY = 10
PADS = ("0", "-1", "[PAD]", "<pad>")
"""What fills short lines up to the length of the longest one."""
ITEMS = re.compile("(item|history|sequence|target)s?(_?(ids?|list|seq|sequence))*", re.IGNORECASE)
"""Columns in a header of any kind."""


@dataclass(frozen=True)
@checked("dataset")
class Sequences:
    """Sequences without times; an item may occur twice in a line.

    Attributes:
        path: the file, plain or gzipped.
        order: ``given``: the items are in the order of time; ``none``: they have no order, as in lists of neighbours,
            and get a random one; ``auto``: ``given``, but an error if nearly all lines are sorted.
        seed: seed of the random order.
        valid: a file of valid events, for ``split=given``; ``path`` then holds those of train, and a user has a line in
            each file.
        test: a file of test events.
    """

    files: ClassVar = ("path", "valid", "test")
    """The settings that name files (see ``recx.storage.cache.keys``)."""

    path: str | None = None
    order: EventOrder = "auto"
    seed: Seed = 0
    valid: str | None = None
    test: str | None = None

    def load(self) -> Interactions:
        """Return the sequences, weight 1, ``time=None``; users in the file's order.

        A header, blank lines and users without an item are left out and counted (``header_lines``, ``blank_lines``,
        ``users_without_items``).

        Raises:
            InputError: no path is set, the file cannot be used, its header names other columns, a user is on two
                lines, or the lines are sorted.
        """
        path = require_path(self.path, "Beauty.txt")
        train = _lines(path)
        others = {fold: name for fold in ("valid", "test") if (name := getattr(self, fold)) is not None}
        tables = {"train": train, **{fold: _lines(expand_home(name)) for fold, name in others.items()}}
        try:
            if not others:
                return self._of_one(train)
            notes = sum((Counter(table.notes) for table in tables.values()), Counter[str]())
            columns = joined({fold: table.columns() for fold, table in tables.items()})
            events = interactions_of(columns, "keep", order=self.order, seed=self.seed)
        except InputError as error:
            raise InputError(f"{path}: {error}") from error
        return replace(events, notes={**train.notes, **notes})

    def _of_one(self, lines: _Lines) -> Interactions:
        import pandas as pd

        item, known = pd.factorize(lines.item, sort=True)
        rows = rows_in_order(lines.indptr, item, np.asarray(known), self.order, self.seed)
        return Interactions(
            indptr=lines.indptr,
            item=(item if rows is None else item[rows]).astype(np.int32),
            time=None,
            weight=np.ones(len(item), dtype=np.float32),
            users=Entities(lines.user),
            items=Entities(np.asarray(known)),
            notes=lines.notes,
        )


@dataclass(frozen=True, eq=False)
class _Lines:
    """A file: the ids of its users [n_users], the borders of their items, the ids of the items [n], and counts."""

    user: Array
    indptr: Longs
    item: Array
    notes: dict[str, float]

    def columns(self) -> dict[str, Array]:
        """Return user and item of every event [n]."""
        return {"user": np.repeat(self.user, np.diff(self.indptr)), "item": self.item}


def _lines(path: Path) -> _Lines:
    """Read a file (raises like ``Sequences.load``)."""
    # Not splitlines(), which also breaks at rare characters within an id.
    words = [line.split() for line in StringIO(read_text(path), newline=None)]
    head = next((number for number, line in enumerate(words) if line), None)
    has_header = head is not None and _is_header(words[head], f"{path}, line {head + 1}")
    header = [word.lower() for word in words[head or 0]] if has_header else []
    headers = [number for number, line in enumerate(words) if header and [*map(_plain, line)] == header]
    for number in headers:
        words[number] = []
    _refuse_other_formats(words, str(path))
    _refuse_padding(words, str(path))
    lengths = np.array([len(line) for line in words], dtype=np.int64)
    full = lengths > 1
    if not full.any():
        raise InputError(f"{path} has no line with a user and an item: provide lines such as 'user item item'")
    first: dict[str, int] = {}
    for number, line in enumerate(words, start=1):
        if line and first.setdefault(line[0], number) != number:
            raise InputError(f"{path}: user {line[0]!r} is on lines {first[line[0]]} and {number}: join them into one")
    lines = np.flatnonzero(full) + 1
    users = ids_of([line[0] for line in words if len(line) > 1], f"{path}: the users", lines)
    clicked = [item for line in words for item in line[1:]]
    ids = ids_of(clicked, f"{path}: the items", np.repeat(lines, lengths[full] - 1))
    notes: dict[str, float] = {
        "blank_lines": int((lengths == 0).sum()) - len(headers),
        "users_without_items": int((lengths == 1).sum()),
        **({"header_lines": len(headers)} if headers else {}),
    }
    return _Lines(users, indptr_of(lengths[full] - 1), ids, notes)


def _refuse_other_formats(lines: Sequence[Sequence[str]], path: str) -> None:
    """Raise InputError if lines hold more than ids: brackets, commas, comments, or a number behind every item."""
    filled = [(number, line) for number, line in enumerate(lines, start=1) if line]
    for number, line in filled:
        text = " ".join(line)
        if line[0].startswith(("#", "%", "//")) or MARKED.search(text):
            raise InputError(
                f"{path}, line {number}: {text[:60]!r} is not ids alone, but a comment, or ids with brackets, commas "
                "or quotes: write the user and the items, separated by blanks"
            )
    items = [item for _, line in filled for item in line[1:]]
    if items and all(re.fullmatch(r"[^:]+:-?\d+(\.\d+)?", item) for item in items):
        raise InputError(
            f"{path}: a number stands behind every item, such as {items[0]!r}: leave it out, or read a table of events "
            "with dataset=table"
        )


def _refuse_padding(lines: Sequence[Sequence[str]], path: str) -> None:
    """Raise InputError if an item only fills up lines to one length: it stands at the same end of them, next to itself.

    A few lines may be so by chance.
    """
    filled = [line[1:] for line in lines if line]
    for pad in PADS if len(filled) >= MANY and len({len(line) for line in filled}) == 1 else ():
        padded = [line for line in filled if pad in line]
        for end, ordered in {"beginning": padded, "end": [line[::-1] for line in padded]}.items():
            runs = [next((at for at, item in enumerate(line) if item != pad), len(line)) for line in ordered]
            alone = all(pad not in line[run:] for line, run in zip(ordered, runs, strict=True))
            if len(padded) > 1 and max(runs) > 1 and alone and max(runs) < len(filled[0]):
                raise InputError(
                    f"{path}: the item {pad} stands at the {end} of {len(padded):,} lines only, next to itself, as "
                    "where short lines are filled up: remove it"
                )


def _plain(word: str) -> str:
    return word.lstrip("\ufeff").lower()


def _is_header(words: Sequence[str], where: str) -> bool:
    """Return whether the words of a line name a column of users, then columns of items.

    Raises:
        InputError: It is a header of RecBole with other columns, or with the items in another order.
    """
    typed = all(map(TYPED.fullmatch, words))
    names = [word.partition(":")[0] if typed else word for word in words]
    of_items = len(names) > 1 and all(map(ITEMS.fullmatch, names[1:]))
    if typed and (not USER.fullmatch(names[0]) or not of_items or not words[1].endswith("_seq") or len(words) > 3):
        raise InputError(
            f"{where}: the header names the columns {' '.join(words)}, but a line must be a user, the items, oldest "
            "first, and at most one item after them: keep these columns only, or read a table of events with "
            "dataset=table"
        )
    return bool(USER.fullmatch(names[0])) and of_items
