"""Traces of agents in OpenTelemetry's GenAI conventions: which tool was called for what the user asked?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np

from recx.core.bounds import checked
from recx.core.entities import Entities
from recx.core.errors import InputError
from recx.core.nouns import Nouns
from recx.core.types import Doubles, Interactions, RankedLists
from recx.parts.dataset.events import slates_of, text_array
from recx.parts.dataset.files import expand_home, require_files
from recx.parts.dataset.otel_calls import Call, Failed, called
from recx.parts.dataset.otel_messages import TOKENS
from recx.parts.dataset.otel_spans import read_spans
from recx.parts.dataset.tool_pool import ToolPool
from recx.parts.dataset.trees import users_of

Paths = str | tuple[str, ...]


@dataclass(frozen=True)
@checked("dataset")
class Otel:
    """Calls of tools in traces. A user is a call, its text what the user asked; an item is a tool.

    Attributes:
        path: a file of spans as OTLP's JSON, whole or one object a line, or with a span a line; a folder or pattern of
            such files, or a list.
        pool: file that describes the tools, in any form of ``tool_pool.json``; None: the tools that the spans call or
            define (``gen_ai.tool.definitions``).
        reliability: key of a tool in ``pool`` that says how reliable it is, from 0 to 1; None: it is not read.
        failed: whether calls that ended in an error are tasks: ``keep`` or ``drop``.
        cost: attribute of a span that holds what it cost.
        times: whether a task has the time of its call, as ``split=by_time`` needs it; otherwise tasks have no times, as
            those of other data of tools.
    """

    nouns: ClassVar = Nouns("task", "tasks", "tool", "tools")

    path: Paths | None = None
    pool: str | None = None
    reliability: str | None = None
    failed: Failed = "drop"
    cost: str = "gen_ai.usage.cost"
    times: bool = False

    @property
    def depends_on(self) -> list[Path]:
        """The file of the tools (see ``recx.storage.cache.keys``)."""
        return [expand_home(self.pool)] if self.pool else []

    def load(self) -> Interactions:
        """Return one event for each call: its tool, weight 1.

        users: the calls, trace by trace, with the columns text, trace, node (the span), status (``ok`` or ``error``),
        calls, and, where spans report them, input_tokens, output_tokens and cost: what the trace used up to this call
        since the one before it, failed calls included, so that the tasks of a trace add up to it; NaN in traces that do
        not report them.
        items: the tools, sorted by name, with text, name and, if it is read, reliability. slates: the tools that were
        offered, where spans define them.
        What is left out is counted (see ``called``).

        Raises:
            InputError: a file cannot be used, or no call of a tool is left.
        """
        notes: Counter[str] = Counter()
        files = require_files(self.path, "traces.jsonl")
        if self.reliability is not None and self.pool is None:
            raise InputError(
                f"dataset.reliability={self.reliability} names a key of the tools of a file: name it by dataset.pool"
            )
        pool = None if self.pool is None else ToolPool.read(expand_home(self.pool), self.reliability)
        spans = read_spans(files.paths, notes)
        found = called(spans, self.failed, self.cost, None if pool is None else pool.number, notes)
        if not found.calls:
            counted = ", ".join(f"{name} {count}" for name, count in notes.items() if count)
            raise InputError(
                f"{files.name}: none of its spans calls a tool for what a user asked ({counted}): a task is a span "
                "with gen_ai.operation.name=execute_tool, in or after one with gen_ai.input.messages; its tool is known"
            )
        return self._interactions(pool or ToolPool.described(found.tools, None, files.name), found.calls, notes)

    def _interactions(self, pool: ToolPool, calls: Sequence[Call], notes: Counter[str]) -> Interactions:
        start = np.array([call.start for call in calls]) // 1_000_000
        if self.times and not start.all():
            name = calls[int(np.argmin(start))].id
            raise InputError(
                f"dataset.times=true, and the span {name} (trace/span) has no start: set dataset.times=false"
            )
        users = users_of(calls, "text", "trace", "node")
        status = text_array("error" if call.failed else "ok" for call in calls)
        return Interactions(
            indptr=np.arange(len(calls) + 1),
            item=np.array([pool.number[call.tool] for call in calls], dtype=np.int32),
            time=start if self.times else None,
            weight=np.ones(len(calls), dtype=np.float32),
            users=Entities(users.ids, {**users.table, "status": status, **_use(calls)}),
            items=Entities(text_array(pool.names), pool.table),
            slates=_slates(calls, pool, notes),
            notes={**pool.notes, **notes},
        )


def _use(calls: Sequence[Call]) -> dict[str, Doubles]:
    """Return the columns of calls, tokens and cost that any trace reports, NaN in the traces that do not."""
    found = {}
    for column in ("calls", *TOKENS, "cost"):
        reporting = {call.trace for call in calls if column in call.use}
        if reporting:
            numbers = [call.use.get(column, 0.0 if call.trace in reporting else np.nan) for call in calls]
            found[column] = np.array(numbers)
    return found


def _slates(calls: Sequence[Call], pool: ToolPool, notes: Counter[str]) -> RankedLists | None:
    offers = [[pool.number[name] for name in call.offered or () if name in pool.number] for call in calls]
    if not any(call.offered is not None for call in calls):
        return None
    lengths = np.array([len(tools) for tools in offers])
    notes["tasks_without_candidates"] = int((lengths == 0).sum())
    notes["candidates_not_in_the_pool"] = sum(len(call.offered or ()) for call in calls) - int(lengths.sum())
    notes["tasks_whose_candidates_lack_the_truth"] = sum(
        bool(tools) and pool.number[call.tool] not in tools for call, tools in zip(calls, offers, strict=True)
    )
    item = np.array([tool for tools in offers for tool in tools], dtype=np.int32)
    return slates_of(np.flatnonzero(lengths), lengths[lengths > 0], item)
