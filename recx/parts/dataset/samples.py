"""Ready-made samples: a task and a tool with their features, and whether the tool is right."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from recx.core.bounds import checked
from recx.core.entities import Entities
from recx.core.errors import InputError
from recx.core.given_folds import fold_of
from recx.core.nouns import Nouns
from recx.core.precision import narrowed
from recx.core.types import Array, Interactions, Ints, Longs
from recx.parts.dataset.events import text_array
from recx.parts.dataset.files import refuse_first, require_files
from recx.parts.dataset.judgements import Pairs, judged
from recx.parts.dataset.sample_features import Place
from recx.parts.dataset.sample_files import read_samples
from recx.parts.dataset.tool_schemas import words_of_name

NOTES = {
    "documents_offered": "tools_offered",
    "documents_twice_in_a_query": "samples_twice",
    "queries_without_relevant": "tasks_without_right_tool",
    "queries_all_relevant": "tasks_whose_tools_are_all_right",
    "queries_with_one_document": "tasks_with_one_tool",
}
"""Counts of judged documents -> what they are called here."""


@dataclass(frozen=True)
@checked("dataset")
class Samples:
    """Pairs of task and tool. A user is a task, an item a tool; the features are the slates' columns.

    Attributes:
        path: the file, a folder of parts, a pattern, or a list of these: CSV, Parquet, Arrow, JSON or JSON lines.
        task: column of the tasks' ids; None: it is found by its name, or ids are those of trace and node.
        tool: column of the tools' names.
        label: column of labels: 1 where the tool is right, 0 where it is not, missing where that is unknown.
        features: column that holds a list or an object of numbers in each row, or the columns of single features.
    """

    nouns: ClassVar = Nouns("task", "tasks", "tool", "tools")

    path: str | tuple[str, ...] | None = None
    task: str | None = None
    tool: str | None = None
    label: str | None = None
    features: str | tuple[str, ...] | None = None

    def load(self) -> Interactions:
        """Return all pairs as slates with their features as columns, and the right ones as events, without times.

        users: the tasks, by first appearance, with those of the columns text, trace, node and part (train, valid, test)
        that the file has. items: the tools, sorted by name, with text (the words of the name) and name.
        A task without a right tool is counted (``tasks_without_right_tool``); one whose labels are all missing is to be
        predicted (``tasks_to_predict``). Rows that repeat another one are left out and counted (``samples_twice``).

        Raises:
            InputError: a file cannot be used, a task has some labels only or tells different things of itself, two
                samples of a pair differ, or no tool is right.
        """
        files = require_files(self.path, "samples.jsonl")
        notes: dict[str, int] = {}
        named = {role: getattr(self, role) for role in ("task", "tool", "label", "features")}
        rows = read_samples(files, named, notes)
        words = dict(rows.words)
        if "task" not in words:
            pairs = zip(words["trace"], words["node"], strict=True)
            words["task"] = text_array(f"{trace}/{node}" for trace, node in pairs)
        user, ids, first = _numbered(words["task"])
        table: dict[str, Array] = {
            role: words[role][first] for role in ("text", "trace", "node", "part") if role in words
        }
        for role, column in table.items():
            _refuse_unlike(words[role], column[user], f"has two values of {role}", words["task"], rows.place)
        if "part" in table:
            table["part"] = _parts(table["part"], rows.place, first)
        unknown = np.isnan(rows.label)
        to_predict = np.bincount(user[unknown], minlength=len(ids)) > 0
        lacking = unknown & (np.bincount(user[~unknown], minlength=len(ids)) > 0)[user]
        refuse_first(
            lacking, lambda row: f"{rows.place(row)}: its label is missing, and other samples of its task have one"
        )
        names, item = np.unique(words["tool"].astype(str), return_inverse=True)
        features = {name: narrowed(values) for name, values in rows.features.items()}
        _refuse_two(user * len(names) + item, {"label": rows.label, **features}, words, rows.place)
        if not (rows.label == 1).any():
            raise InputError(f"{files.name}: no label is 1, so there is nothing to learn from: correct the labels")
        items = Entities(text_array(names), {"text": text_array(map(words_of_name, names)), "name": text_array(names)})
        made = judged(Pairs(user, item, np.nan_to_num(rows.label), features), Entities(ids, table), items)
        counts = {NOTES[name]: count for name, count in made.notes.items() if name in NOTES}
        counts["tasks_without_right_tool"] -= int(to_predict.sum())
        counts["tasks_to_predict"] = int(to_predict.sum())
        asked: Ints | None = np.flatnonzero(to_predict).astype(np.int32) if to_predict.any() else None
        return replace(made, to_predict=asked, notes={**counts, **notes})


def _numbered(values: Array) -> tuple[Longs, Array, Longs]:
    """Return the number of each row's value by first appearance [n], the values, and the row of each."""
    import pandas as pd

    number, distinct = pd.factorize(values)
    first = np.full(len(distinct), len(values))
    np.minimum.at(first, number, np.arange(len(values)))
    return number.astype(np.int64), np.asarray(distinct, dtype=object), first


def _refuse_unlike(values: Array, expected: Array, what: str, task: Array, place: Place) -> None:
    unlike = values != expected
    if unlike.any():
        row = int(np.argmax(unlike))
        raise InputError(f"{place(row)}: the task {task[row]!r} {what}: write the same in all of its samples")


def _parts(words: Array, place: Place, first: Longs) -> Array:
    parts = [fold_of(word) for word in words]
    if None in parts:
        at = parts.index(None)
        raise InputError(f"{place(int(first[at]))}: its part is {words[at]!r}, which is none of train, valid and test")
    return text_array(part or "" for part in parts)


def _refuse_two(pair: Longs, values: Mapping[str, Array], words: Mapping[str, Array], place: Place) -> None:
    """Refuse two samples of one task and tool that differ; equal ones are one sample."""
    order = np.argsort(pair, kind="stable")
    again = np.flatnonzero(np.diff(pair[order]) == 0)
    for name, column in values.items():
        before, after = column[order[again]], column[order[again + 1]]
        unlike = (before != after) & ~(np.isnan(before) & np.isnan(after))
        if unlike.any():
            row = int(order[again + 1][np.argmax(unlike)])
            raise InputError(
                f"{place(row)}: the tool {words['tool'][row]!r} of the task {words['task'][row]!r} has another {name} "
                "than in an earlier sample: keep one of them"
            )
