"""Tool selection: which tool answers a task? ``tool_pool.json`` and ``tool_selection.json``, or made up by a generator.

{"selections": [{trace_id, node_id, task, ground_truth, retrieved_candidates?: [{tool_name}]}]}: a user is a node of a
trace, who asks with the text of its task.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from annotated_types import Ge

from recx.core.bounds import Seed, check
from recx.core.entities import Entities
from recx.core.errors import InputError
from recx.core.ragged import indptr_of
from recx.core.types import Array, Interactions, RankedLists
from recx.parts.dataset.events import at_home
from recx.parts.dataset.synthetic_tools import make_tools
from recx.parts.dataset.tool_pool import ToolPool, file_of
from recx.storage.readers.json import entry, read_json


@dataclass(frozen=True)
class Selection:
    """One task. truth: number of the right tool, None where it is not told. offered: of the tools to choose from."""

    trace: str
    node: str
    task: str
    truth: int | None
    offered: Sequence[int] | None = None


@dataclass(frozen=True)
class ToolSelection:
    """Tasks, and the one tool of a pool that answers each.

    path: a folder with ``tool_pool.json`` and ``tool_selection.json``, plain or .gz; None: the generator makes some.
    tasks, tools, seed: the generator's size and seed (see ``recx.parts.dataset.synthetic_tools``).
    """

    path: str | None = None
    tasks: Annotated[int, Ge(10)] = 3000
    tools: Annotated[int, Ge(2)] = 60
    seed: Seed = 0

    def __post_init__(self) -> None:
        check(self, "dataset")

    def load(self) -> Interactions:
        """Return one event for each task: its right tool, weight 1, ``time=None``.

        users: the tasks in the file's order, with the columns text, trace and node. items: the pool's tools, sorted by
        name, with the columns text and name. slates: the candidates that the file offers, None if it offers none.
        A task whose right tool is not told is one ``to_predict``. Left out and counted are tasks without a word
        (``tasks_empty``), those whose right tool is not in the pool (``tasks_with_unknown_truth``), and candidates that
        stand twice or are not in the pool.

        Raises:
            InputError: a file cannot be used, a task stands twice, or no task has its right tool in the pool.
        """
        notes: Counter[str] = Counter()
        if self.path is None:
            texts, made = make_tools(self.tasks, self.tools, self.seed)
            pool = ToolPool.of(texts)
            found = [Selection(trace, node, task, pool.number[tool]) for trace, node, task, tool in made]
        else:
            folder = at_home(self.path)
            pool = ToolPool.read(_file(folder, "tool_pool.json"))
            found = list(_selections(_file(folder, "tool_selection.json"), pool, notes))
        return _interactions(pool, found, notes)


def _file(folder: Path, name: str) -> Path:
    found = file_of(folder, name)
    if found is None:
        raise InputError(
            f"dataset.path={folder}: it has no {name} or {name}.gz: name a folder that has the tools and the tasks"
        )
    return found


def _selections(path: Path, pool: ToolPool, notes: Counter[str]) -> Iterator[Selection]:
    """Yield the tasks of a file that have words, and whose right tool the pool has or the file does not tell."""
    seen: set[str] = set()
    asked = answered = 0
    for number, record in enumerate(entry(read_json(path), "selections", list, str(path)), start=1):
        where = f"{path}, selection {number}"
        trace, node = (str(entry(record, key, (str, int), where)) for key in ("trace_id", "node_id"))
        if _id(trace, node) in seen:
            raise InputError(f"{where}: node {node!r} of trace {trace!r} stands twice: rename or remove one of them")
        seen.add(_id(trace, node))
        task = entry(record, "task", str, where)
        truth = record.get("ground_truth") or None
        if truth is not None:
            entry(record, "ground_truth", str, where)
        asked += 1
        if not task.strip():
            notes["tasks_empty"] += 1
        elif truth is not None and truth not in pool.number:
            notes["tasks_with_unknown_truth"] += 1
        else:
            answered += truth is not None
            offered = _offered(record, pool, notes, where)
            yield Selection(trace, node, task, None if truth is None else pool.number[truth], offered)
    if not answered:
        raise InputError(
            f"{path}: none of its {asked} tasks has a ground_truth that stands in the tool pool ({_counted(notes)}): "
            "give tasks with their right tool"
        )


def _counted(notes: Counter[str]) -> str:
    return ", ".join(f"{name} {count}" for name, count in notes.items()) or "nothing else was wrong"


def _offered(record: dict[str, Any], pool: ToolPool, notes: Counter[str], where: str) -> list[int] | None:
    """Return the numbers of the candidates that a task offers, each once; None where it offers none."""
    if record.get("retrieved_candidates") is None:
        return None
    candidates = entry(record, "retrieved_candidates", list, where)
    names = [entry(candidate, "tool_name", str, f"{where}, retrieved_candidates") for candidate in candidates]
    once = dict.fromkeys(names)
    notes["candidates_twice"] += len(names) - len(once)
    known = [pool.number[name] for name in once if name in pool.number]
    notes["candidates_not_in_the_pool"] += len(once) - len(known)
    return known


def _id(trace: str, node: str) -> str:
    return f"{trace}/{node}"


def _interactions(pool: ToolPool, found: Sequence[Selection], notes: Counter[str]) -> Interactions:
    truths = [selection.truth for selection in found]
    told = np.array([truth is not None for truth in truths])
    notes["tasks_without_truth"] = int((~told).sum())
    users = Entities(
        _texts(_id(selection.trace, selection.node) for selection in found),
        {
            "text": _texts(selection.task for selection in found),
            "trace": _texts(selection.trace for selection in found),
            "node": _texts(selection.node for selection in found),
        },
    )
    names = _texts(pool.names)
    return Interactions(
        indptr=indptr_of(told),
        item=np.array([truth for truth in truths if truth is not None], dtype=np.int32),
        time=None,
        weight=np.ones(int(told.sum()), dtype=np.float32),
        users=users,
        items=Entities(names, {"text": _texts(pool.texts), "name": names}),
        slates=_slates(found, notes),
        to_predict=None if told.all() else np.flatnonzero(~told).astype(np.int32),
        notes=dict(notes),
    )


def _texts(texts: Iterable[str]) -> Array:
    """Return texts of any length [n]; as fixed-width text NumPy would pad each one to the longest."""
    return np.array(list(texts), dtype=object)


def _slates(found: Sequence[Selection], notes: Counter[str]) -> RankedLists | None:
    lists = {user: selection.offered for user, selection in enumerate(found) if selection.offered is not None}
    if not lists:
        return None
    notes["tasks_without_candidates"] = len(found) - sum(map(bool, lists.values()))
    notes["tasks_whose_candidates_lack_the_truth"] = sum(
        found[user].truth is not None and found[user].truth not in offered for user, offered in lists.items()
    )
    item = np.array([tool for offered in lists.values() for tool in offered], dtype=np.int32)
    return RankedLists(
        user=np.array(list(lists), dtype=np.int32),
        indptr=indptr_of(np.array([len(offered) for offered in lists.values()])),
        item=item,
        score=np.zeros(len(item), dtype=np.float32),
    )
