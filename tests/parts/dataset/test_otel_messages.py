"""What the user asked, by every convention of OpenTelemetry for GenAI."""

from __future__ import annotations

import json
from typing import Any

import pytest
from made_traces import ASKED

from recx.parts.dataset.otel_messages import definitions_of, prompt_of, use_of
from recx.parts.dataset.otel_spans import Event, Span

TURNS = [
    {"role": "user", "content": "first"},
    {"role": "assistant", "content": "call mail"},
    {"role": "user", "content": [{"type": "text", "text": "Weather"}, {"type": "text", "text": "in Paris?"}]},
    {"role": "tool", "content": "rainy"},
    {"role": "user", "content": [{"type": "tool_result", "content": "57 F"}]},
]


def of(attributes: dict[str, Any], *events: Event) -> Span:
    return Span("t", "s", "", "chat", 0, False, attributes, list(events))


@pytest.mark.parametrize(
    ("span", "expected"),
    [
        (of({"gen_ai.input.messages": json.dumps(ASKED)}), "Weather in Paris?"),
        (of({"gen_ai.input.messages": ASKED}), "Weather in Paris?"),
        (of({"gen_ai.input.messages": TURNS}), "Weather\nin Paris?"),
        (of({"gen_ai.input.messages": ASKED[:1]}), ""),
        (of({}, ("gen_ai.client.inference.operation.details", {"gen_ai.input.messages": ASKED})), "Weather in Paris?"),
        (of({}, ("gen_ai.user.message", {"content": "a"}), ("gen_ai.user.message", {"content": "b"})), "b"),
        (of({}, ("gen_ai.user.message", {"gen_ai.event.content": '{"content": "a", "role": "user"}'})), "a"),
        (of({}, ("gen_ai.tool.message", {"content": "rainy"})), ""),
        (of({}, ("gen_ai.content.prompt", {"gen_ai.prompt": json.dumps(TURNS)})), "Weather\nin Paris?"),
        (of({"gen_ai.prompt": "[{'role': 'user', 'content': 'What is it?'}]"}), "What is it?"),
        (of({"gen_ai.prompt": "plain"}), "plain"),
        (of({"gen_ai.prompt": "[urgent] mail {it}"}), "[urgent] mail {it}"),
        (
            of({
                "gen_ai.prompt.0.role": "system", "gen_ai.prompt.0.content": "x",
                "gen_ai.prompt.10.role": "user", "gen_ai.prompt.10.content": "last",
                "gen_ai.prompt.2.role": "user", "gen_ai.prompt.2.content": "first",
            }),
            "last",
        ),
        (of({"gen_ai.output.messages": ASKED, "gen_ai.completion": "no"}), ""),
        (of({"gen_ai.input.messages": 7}), ""),
    ],
)  # fmt: skip
def test_the_last_message_of_the_user_is_the_prompt(span: Span, expected: str) -> None:
    assert prompt_of(span) == expected


def test_definitions_are_read_as_schemas() -> None:
    given = [{"type": "function", "name": "a", "description": "x"}, {"type": "retrieval"}, "y"]
    found = definitions_of(of({"gen_ai.tool.definitions": json.dumps(given)}))
    assert found is not None
    assert [tool.text for tool in found[0]] == ["a x"]
    assert found[1] == 2
    assert definitions_of(of({})) is None
    assert definitions_of(of({"gen_ai.tool.definitions": "none"})) is None


def test_tokens_have_an_older_name_too() -> None:
    span = of({"gen_ai.usage.prompt_tokens": "7", "gen_ai.usage.output_tokens": 2, "x": 0.5})
    assert use_of(span, "x") == {"input_tokens": 7, "output_tokens": 2, "cost": 0.5}
    assert use_of(of({}), "x") == {}
