"""From spans to tasks: every call of a tool, with what the user asked, the tools on offer, and what it used."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, Literal, TypeVar

from recx.parts.dataset.otel_messages import definitions_of, prompt_of, use_of
from recx.parts.dataset.otel_spans import Span
from recx.parts.dataset.tool_schemas import Tool, text_of_tool
from recx.parts.dataset.trees import Node

Failed = Literal["drop", "keep"]
CALLS = "execute_tool"
"""The operation of a span that calls a tool, and the first word of its name."""
Value = TypeVar("Value")
Key = tuple[str, str]


@dataclass(frozen=True)
class Call(Node):
    """A call of a tool.

    Attributes:
        tool: The tool that was called.
        start: When, in nanoseconds since 1970; 0 if unknown.
        failed: Whether it ended in an error.
        offered: The tools that there were to choose from; None: nothing says it.
        use: ``calls``, ``input_tokens``, ``output_tokens`` and ``cost`` of the trace's spans up to this call, calls
            that are no task included; what followed the last task counts for it.
    """

    tool: str
    start: int
    failed: bool
    offered: tuple[str, ...] | None
    use: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Called:
    """What spans tell.

    Attributes:
        calls: The calls that are tasks, trace by trace, each oldest first.
        tools: What is known of the tools that were called or offered, by name.
    """

    calls: Sequence[Call]
    tools: Mapping[str, Tool]


def called(
    spans: Sequence[Span], failed: Failed, cost: str, known: Container[str] | None, notes: Counter[str]
) -> Called:
    """Return the calls of tools among spans.

    Args:
        spans: All spans.
        failed: Whether a call that ended in an error is a task.
        cost: The attribute that holds what a span cost.
        known: The tools whose calls are tasks; None: all.
        notes: Receives counts: ``tool_spans_without_name``, ``tool_spans_of_the_same_call`` (a tool's own span inside
            that of its caller), ``tool_calls_failed``, ``tasks_without_prompt``, ``tasks_with_unknown_truth``,
            ``traces_without_task`` (that call tools) and ``tool_definitions_left_out``.

    Raises:
        InputError: Tokens or a cost are no number.
    """
    by_key = {(span.trace, span.id): span for span in spans}
    prompts, offers = _Nearest.of(spans, by_key, prompt_of), _Nearest.of(spans, by_key, definitions_of)
    tools: dict[str, Tool] = {}
    for found, left_out in offers.values.values():
        notes["tool_definitions_left_out"] += left_out
        tools |= {tool.name: tool for tool in found if tool.name not in tools}
    traces: dict[str, list[Call]] = {span.trace: [] for span in spans}
    made: list[Key] = []
    for span in spans:
        tool = _tool_of(span)
        if tool is None:
            continue
        above = by_key.get((span.trace, span.parent))
        if above is not None and tool and _tool_of(above) == tool:
            notes["tool_spans_of_the_same_call"] += 1
            continue
        made.append((span.trace, span.id))
        notes["tool_spans_without_name"] += not tool
        notes["tool_calls_failed"] += bool(tool) and span.failed
        if tool:
            said = str(span.attributes.get("gen_ai.tool.description") or "")
            tools.setdefault(tool, Tool(tool, text_of_tool(tool, said, ""), bool(said), {}))
        if not tool or (span.failed and failed == "drop"):
            continue
        prompt, offered = prompts.to(span), offers.to(span)
        if prompt is None:
            notes["tasks_without_prompt"] += 1
        elif known is not None and tool not in known:
            notes["tasks_with_unknown_truth"] += 1
        else:
            names = None if offered is None else tuple(dict.fromkeys(one.name for one in offered[0]))
            traces[span.trace].append(Call(span.trace, span.id, prompt, tool, span.start, span.failed, names))
    ordered = {trace: sorted(calls, key=lambda call: call.start) for trace, calls in traces.items()}
    notes["traces_without_task"] = sum(not traces[trace] for trace in {trace for trace, _ in made})
    uses = {(span.trace, span.id): use for span in spans if (use := use_of(span, cost))}
    _leave_out_sums(uses, by_key)
    for key in made:
        uses.setdefault(key, {})["calls"] = 1.0
    for key, use in uses.items():
        _add(use, by_key[key], ordered[key[0]])
    return Called([call for calls in ordered.values() for call in calls], tools)


def _tool_of(span: Span) -> str | None:
    """Return the tool that a span calls, "" if it does not say which; None: it calls none."""
    operation, name = (span.attributes.get(f"gen_ai.{key}") for key in ("operation.name", "tool.name"))
    if operation != CALLS and (operation is not None or not name):
        return None
    return str(name or (span.name.removeprefix(f"{CALLS} ") if span.name.startswith(f"{CALLS} ") else "")).strip()


@dataclass(frozen=True)
class _Nearest(Generic[Value]):
    """Finds what the nearest span says: the one around a span, or the last one before it beside it, and so on upwards.

    Attributes:
        by_key: All spans.
        values: What each span says that says anything.
        beside: Trace and parent -> starts of the spans in it that say something, and their keys, oldest first.
    """

    by_key: Mapping[Key, Span]
    values: Mapping[Key, Value]
    beside: Mapping[Key, tuple[list[int], list[Key]]]

    @classmethod
    def of(
        cls, spans: Sequence[Span], by_key: Mapping[Key, Span], get: Callable[[Span], Value | None]
    ) -> _Nearest[Value]:
        values = {(span.trace, span.id): value for span in spans if (value := get(span))}
        groups: dict[Key, list[tuple[int, Key]]] = defaultdict(list)
        for key in values:
            groups[by_key[key].trace, by_key[key].parent].append((by_key[key].start, key))
        beside = {}
        for group, found in groups.items():
            found.sort(key=lambda one: one[0])
            beside[group] = [start for start, _ in found], [key for _, key in found]
        return cls(by_key, values, beside)

    def to(self, span: Span) -> Value | None:
        """Return what the nearest span of a span says."""
        seen, at = set(), span
        while at.id not in seen:
            seen.add(at.id)
            around = (at.trace, at.parent)
            if around in self.values:
                return self.values[around]
            starts, keys = self.beside.get(around, ([], []))
            place = bisect_right(starts, span.start)
            if place:
                return self.values[keys[place - 1]]
            if around not in self.by_key:
                return None
            at = self.by_key[around]
        return None


def _leave_out_sums(uses: Mapping[Key, dict[str, float]], by_key: Mapping[Key, Span]) -> None:
    """Take from each span what one of its inner spans reports too, since it is then the sum of them."""
    sums: set[tuple[Key, str]] = set()
    for (trace, own), use in uses.items():
        for column in use:
            at = trace, by_key[trace, own].parent
            while at in by_key and (at, column) not in sums:
                sums.add((at, column))
                at = trace, by_key[at].parent
    for key, column in sums:
        uses.get(key, {}).pop(column, None)


def _add(use: Mapping[str, float], span: Span, calls: Sequence[Call]) -> None:
    """Add what a span used to its own task, or else to the next one of its trace, or else to the last."""
    if not calls:
        return
    own = next((call for call in calls if call.node == span.id), None) if "calls" in use else None
    place = bisect_left(calls, span.start, key=lambda call: call.start)
    call = own or calls[min(place, len(calls) - 1)]
    for column, number in use.items():
        call.use[column] = call.use.get(column, 0.0) + number
