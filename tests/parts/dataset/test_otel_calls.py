"""Which span says what a call was for, in traces of every shape."""

from __future__ import annotations

from collections import Counter
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from recx.parts.dataset.otel_calls import Called, called
from recx.parts.dataset.otel_spans import Span


def made(own: str, parent: str, start: int, **attributes: Any) -> Span:
    named = {f"gen_ai.{key.replace('__', '.')}": value for key, value in attributes.items()}
    return Span("t", own, parent, own, start, False, named)


def tool(own: str, parent: str, start: int, name: str = "mail", **attributes: Any) -> Span:
    return made(own, parent, start, operation__name="execute_tool", tool__name=name, **attributes)


def of(*spans: Span) -> Called:
    return called(spans, "drop", "cost", None, Counter())


def asked(*spans: Span) -> dict[str, str]:
    return {call.node: call.task for call in of(*spans).calls}


def test_the_span_around_a_call_comes_first_then_the_last_one_before_it_beside_it_then_those_above() -> None:
    chats = [made(f"c{at}", "agent", at, prompt=f"chat {at}") for at in (1, 3, 9)]
    silent = made("agent", "top", 0, operation__name="invoke_agent")
    around = made("agent", "top", 0, prompt="the agent's")
    top = made("top", "", 0, prompt="the top's")
    assert asked(around, *chats, tool("x", "agent", 5)) == {"x": "the agent's"}
    assert asked(silent, *chats, tool("x", "agent", 5), tool("y", "agent", 2)) == {"y": "chat 1", "x": "chat 3"}
    assert asked(silent, top, chats[2], tool("x", "agent", 5)) == {"x": "the top's"}
    assert asked(made("c", "", 1, prompt="beside"), tool("x", "", 2)) == {"x": "beside"}
    assert asked(made("c", "lost", 1, prompt="beside"), tool("x", "lost", 2)) == {"x": "beside"}
    assert asked(made("c", "elsewhere", 1, prompt="of others"), tool("x", "lost", 2)) == {}


def test_spans_in_a_circle_end() -> None:
    assert asked(made("a", "b", 0), made("b", "a", 0, usage__input_tokens=1), tool("x", "a", 1)) == {}


def test_an_agent_that_is_a_tool_has_calls_of_its_own() -> None:
    found = of(
        made("agent", "", 0, prompt="plan it"),
        tool("outer", "agent", 1, "planner"),
        made("inner", "outer", 2, prompt="book it"),
        tool("x", "inner", 3, "booker", usage__input_tokens=5),
    )
    assert {call.node: (call.task, call.tool) for call in found.calls} == {
        "outer": ("plan it", "planner"),
        "x": ("book it", "booker"),
    }
    assert [call.use for call in found.calls] == [{"calls": 1}, {"calls": 1, "input_tokens": 5}]


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 50), st.booleans()), max_size=12))
def test_the_use_of_a_trace_is_that_of_its_tasks(spans: list[tuple[int, int, bool]]) -> None:
    """Siblings below one agent: tokens are those of all spans, calls all of its tools."""
    below = [
        tool(str(at), "agent", start, usage__input_tokens=tokens)
        if is_tool
        else made(str(at), "agent", start, usage__input_tokens=tokens)
        for at, (start, tokens, is_tool) in enumerate(spans)
    ]
    found = of(made("agent", "", 0, prompt="x"), *below)
    if found.calls:
        assert sum(call.use["calls"] for call in found.calls) == sum(is_tool for *_, is_tool in spans)
        total = sum(call.use.get("input_tokens", 0) for call in found.calls)
        assert total == sum(tokens for _, tokens, _ in spans)
