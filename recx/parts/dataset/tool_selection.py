"""Tool selection: which tool answers a task? ``tool_pool.json`` and ``tool_selection.json``, or a generator.

{"selections": [{trace_id, node_id, task, ground_truth, retrieved_candidates?: [{tool_name, score?, rank?}]}]}: a user
is a node of a trace, and the text of its task is the query. ``ground_truth`` is a tool, a list of tools where several
are right, [] where none is, or null where that is unknown.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar

import numpy as np
from annotated_types import Ge, Predicate, doc

from recx.core.bounds import Seed, checked
from recx.core.entities import Entities
from recx.core.errors import InputError
from recx.core.nouns import Nouns
from recx.core.precision import Reals
from recx.core.ragged import indptr_of
from recx.core.types import Interactions, RankedLists
from recx.parts.dataset.events import made_up, slates_of, text_array
from recx.parts.dataset.files import expand_home, file_in, require_folder
from recx.parts.dataset.search_order import best_first
from recx.parts.dataset.synthetic_tools import make_tools
from recx.parts.dataset.tool_pool import ToolPool, refuse_made_up
from recx.parts.dataset.trees import Node, users_of
from recx.storage.readers.json import entry, read_json

Label = Annotated[str, Predicate(str.strip), doc("a name that is not blank")]
MISSING = 10
"""One tool in so many is not in the generated pool, so that no tool answers its tasks."""


@dataclass(frozen=True)
class Selection(Node):
    """A task and its answer.

    Attributes:
        right: numbers of the right tools, each once; None if they are unknown.
        offered: numbers of the tools to choose from; None if the data offers none.
        worth: how good a first search found each of them, 0 if it does not say.
    """

    right: tuple[int, ...] | None
    offered: Sequence[int] | None = None
    worth: Reals | None = None


@dataclass(frozen=True)
@checked("dataset")
class ToolSelection:
    """Tasks, and the tools of a pool that answer each: one, or several.

    Attributes:
        path: a folder with ``tool_pool.json`` and ``tool_selection.json``, plain or .gz; None: both are generated.
        tasks: number of generated tasks.
        tools: number of generated tools.
        seed: seed of the generator (see ``recx.parts.dataset.synthetic_tools``).
        reliability: key of a tool in ``tool_pool.json`` that says how reliable it is, from 0 to 1; it is then
            ``phi_hist``. None: it is not read.
        abstain: name of the item that stands for "no tool", which is the right one of a task whose ``ground_truth`` is
            []; it may be one of the pool, or else is added. None: there is none, and such tasks are refused.
    """

    nouns: ClassVar = Nouns("task", "tasks", "tool", "tools")
    reads: ClassVar = ("tool_pool.json", "tool_selection.json")
    """The files in a folder that count (see ``recx.storage.cache.keys``)."""

    path: str | None = None
    tasks: Annotated[int, Ge(10)] = 3000
    tools: Annotated[int, Ge(2)] = 60
    seed: Seed = 0
    reliability: str | None = None
    abstain: Label | None = None

    def load(self) -> Interactions:
        """Return one event for each right tool of each task, weight 1, ``time=None``.

        users: the tasks in the file's order, with the columns text, trace and node. items: the pool's tools, sorted by
        name, with the columns text, name and, where there is such a thing, reliability and is_abstain. slates: the
        candidates that the file offers, by their ``score`` or ``rank`` where it gives one, None if it offers none.
        A task whose right tools are unknown is ``to_predict``. The following are left out and counted: blank tasks
        (``tasks_empty``), tasks of which a right tool is not in the pool (``tasks_with_unknown_truth``), and candidates
        that are repeated or not in the pool.

        Raises:
            InputError: a file cannot be used, a task appears twice, no task has its right tool in the pool, or none has
                no right tool although there is an item that stands for that.
        """
        notes: Counter[str] = Counter()
        if self.path is None:
            refuse_made_up(self.reliability)
            return made_up(_interactions(*self._made(), notes))
        folder = require_folder(expand_home(self.path))
        pool = ToolPool.read(_file(folder, "tool_pool.json"), self.reliability)
        if self.abstain is not None:
            pool = pool.abstaining(self.abstain)
        path = _file(folder, "tool_selection.json")
        events = _interactions(pool, list(_selections(path, pool, notes)), notes)
        if not notes.get("tasks_without_tool", 1):
            raise InputError(
                f"dataset.abstain={self.abstain}: no task of {path} has the ground_truth [], so there is nothing to "
                f"abstain from ({notes['tasks_without_truth']} have null, which is unknown): write [] where no tool is "
                "right"
            )
        return events

    def _made(self) -> tuple[ToolPool, list[Selection]]:
        """Return generated tools and tasks; with ``abstain`` there are more tools, of which the pool lacks the rest."""
        missing = 0 if self.abstain is None else -(-self.tools // MISSING)
        texts, made = make_tools(self.tasks, self.tools + missing, self.seed)
        pool = ToolPool.of(dict(list(texts.items())[: self.tools]))
        if self.abstain is not None:
            pool = pool.abstaining(self.abstain)
        right = [pool.number[tool if tool in pool.number else str(self.abstain)] for *_, tool in made]
        return pool, [Selection(*task[:3], (tool,)) for task, tool in zip(made, right, strict=True)]


def _file(folder: Path, name: str) -> Path:
    found = file_in(folder, name)
    if found is None:
        raise InputError(
            f"dataset.path={folder}: it has no {name} or {name}.gz: name a folder that has the tools and the tasks"
        )
    return found


def _selections(path: Path, pool: ToolPool, notes: Counter[str]) -> Iterator[Selection]:
    """Yield the tasks of a file that are not blank and whose right tools are in the pool or unknown."""
    seen: set[str] = set()
    answered = 0
    for number, record in enumerate(entry(read_json(path), "selections", list, str(path)), start=1):
        where = f"{path}, selection {number}"
        trace, node = (str(entry(record, key, (str, int), where)) for key in ("trace_id", "node_id"))
        if f"{trace}/{node}" in seen:
            raise InputError(f"{where}: node {node!r} of trace {trace!r} appears twice: rename or remove one of them")
        seen.add(f"{trace}/{node}")
        task = entry(record, "task", str, where)
        truth = _truth(record, pool.abstain, where)
        if not task.strip():
            notes["tasks_empty"] += 1
        elif truth is not None and not pool.number.keys() >= set(truth):
            notes["tasks_with_unknown_truth"] += 1
        else:
            answered += truth is not None
            right = None if truth is None else tuple(pool.number[tool] for tool in truth)
            yield Selection(trace, node, task, right, *_offered(record, pool, notes, where))
    if not answered:
        counted = ", ".join(f"{name} {count}" for name, count in notes.items()) or "nothing else was wrong"
        raise InputError(
            f"{path}: none of its {len(seen)} tasks has a ground_truth in the tool pool ({counted}): provide tasks "
            "with their right tool"
        )


def _truth(record: dict[str, Any], abstain: str | None, where: str) -> list[str] | None:
    """Return the right tools of a task, each once; None if they are unknown.

    Raises:
        InputError: they are neither a text nor a list of texts; the list is empty, and nothing stands for that; or it
            has what stands for no tool beside a tool.
    """
    given = record.get("ground_truth")
    if given is None or given == "":
        return None
    tools = entry(record, "ground_truth", (str, list), where)
    if isinstance(tools, str):
        return [tools]
    if not tools and abstain is None:
        raise InputError(
            f"{where}: 'ground_truth' is [], which may mean that no tool is right or that it is unknown: set "
            "dataset.abstain=NAME if none is, which adds an item of that name, or write null if it is unknown"
        )
    for tool in tools:
        if not isinstance(tool, str) or not tool:
            raise InputError(f"{where}: 'ground_truth' lists {tool!r}, which is no name of a tool: correct the file")
    if abstain in tools and len(set(tools)) > 1:
        raise InputError(
            f"{where}: 'ground_truth' lists {abstain!r}, which stands for no tool, beside tools: remove "
            "one or the other"
        )
    return list(dict.fromkeys(tools)) or [str(abstain)]


def _offered(
    record: dict[str, Any], pool: ToolPool, notes: Counter[str], where: str
) -> tuple[list[int] | None, Reals | None]:
    """Return the numbers of the distinct candidates that a task offers (None if none), and how good each is."""
    if record.get("retrieved_candidates") is None:
        return None, None
    candidates = entry(record, "retrieved_candidates", list, where)
    names = [entry(candidate, "tool_name", str, f"{where}, retrieved_candidates") for candidate in candidates]
    order, worth = best_first(candidates, f"{where}, retrieved_candidates")
    first: dict[str, int] = {}
    for place, candidate in enumerate(order):
        first.setdefault(names[candidate], place)
    notes["candidates_twice"] += len(names) - len(first)
    known = {pool.number[name]: place for name, place in first.items() if name in pool.number}
    notes["candidates_not_in_the_pool"] += len(first) - len(known)
    places = list(known.values())
    return list(known), np.zeros(len(known)) if worth is None else worth[places]


def _interactions(pool: ToolPool, found: Sequence[Selection], notes: Counter[str]) -> Interactions:
    lengths = np.array([len(selection.right or ()) for selection in found], dtype=np.int64)
    known = lengths > 0
    notes["tasks_without_truth"] = int((~known).sum())
    notes["tasks_with_several_tools"] = int((lengths > 1).sum())
    if pool.abstain is not None:
        nothing = (pool.number[pool.abstain],)
        notes["tasks_without_tool"] = sum(selection.right == nothing for selection in found)
    return Interactions(
        indptr=indptr_of(lengths),
        item=np.array([tool for selection in found for tool in selection.right or ()], dtype=np.int32),
        time=None,
        weight=np.ones(int(lengths.sum()), dtype=np.float32),
        users=users_of(found, "text", "trace", "node"),
        items=Entities(text_array(pool.names), pool.table),
        slates=_slates(found, notes),
        to_predict=None if known.all() else np.flatnonzero(~known).astype(np.int32),
        notes={**pool.notes, **notes},
    )


def _slates(found: Sequence[Selection], notes: Counter[str]) -> RankedLists | None:
    lists = {user: selection.offered for user, selection in enumerate(found) if selection.offered is not None}
    if not lists:
        return None
    notes["tasks_without_candidates"] = len(found) - sum(map(bool, lists.values()))
    notes["tasks_whose_candidates_lack_the_truth"] = sum(
        found[user].right is not None and not set(found[user].right or ()) & set(offered)
        for user, offered in lists.items()
    )
    lengths = np.array([len(offered) for offered in lists.values()])
    item = np.array([tool for offered in lists.values() for tool in offered], dtype=np.int32)
    worth = np.concatenate([worth for selection in found if (worth := selection.worth) is not None])
    return slates_of(np.array(list(lists)), lengths, item).reorder(worth)
