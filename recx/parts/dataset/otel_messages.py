"""What a span of a model or an agent says in OpenTelemetry's GenAI conventions: the user's message, the tools, the use.

The conventions have moved: what was asked stands in ``gen_ai.input.messages``, an attribute of the span or of the event
``gen_ai.client.inference.operation.details``; before version 1.37 in the event ``gen_ai.user.message``; before 1.28 in
the attribute ``gen_ai.prompt`` of the event ``gen_ai.content.prompt``; in OpenLLMetry's spans in
``gen_ai.prompt.0.role`` and ``gen_ai.prompt.0.content``.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

from recx.core.errors import InputError
from recx.parts.dataset.otel_spans import Span
from recx.parts.dataset.tool_schemas import Tool, tool_of
from recx.storage.readers.json import shown

Message = tuple[str, str]
"""Role and text."""
TOKENS = {
    "input_tokens": ("gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens"),
    "output_tokens": ("gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens"),
}
"""Column -> the attributes of which the first that there is holds it."""
_INDEXED = re.compile(r"gen_ai\.prompt\.(\d+)\.(role|content)")


def prompt_of(span: Span) -> str:
    """Return the last message of the user that a span had as its input; "" if it says none."""
    for messages in _inputs(span):
        said = [text for role, text in messages if role == "user" and text.strip()]
        if said:
            return said[-1]
    return ""


def definitions_of(span: Span) -> tuple[list[Tool], int] | None:
    """Return the tools that a span was offered, and how many others could not be read; None: it says none."""
    given = _parsed(span.attributes.get("gen_ai.tool.definitions"))
    if not isinstance(given, list):
        return None
    found = []
    for one in given:
        try:
            found.append(tool_of(one, "gen_ai.tool.definitions", bare=True))
        except InputError:  # a tool of the model's provider, which is no function
            continue
    return found, len(given) - len(found)


def use_of(span: Span, cost: str) -> dict[str, float]:
    """Return the tokens and the cost that a span reports; cost: the attribute that holds it.

    Raises:
        InputError: One of them is no number from 0 on.
    """
    found = {}
    for column, names in {**TOKENS, "cost": (cost,)}.items():
        name = next((name for name in names if span.attributes.get(name) is not None), None)
        if name is not None:
            found[column] = _number(span.attributes[name], name, span)
    return found


def _number(value: Any, name: str, span: Span) -> float:
    try:
        number = float(value) if isinstance(value, int | float | str) and not isinstance(value, bool) else -1.0
    except (ValueError, OverflowError):
        number = -1.0
    if not 0 <= number < float("inf"):
        raise InputError(
            f"span {span.id} of trace {span.trace}: {name} is {shown(value)}, and must be a number from 0 on"
        )
    return number


def _inputs(span: Span) -> Iterator[list[Message]]:
    """Yield the messages that a span had as its input, as each convention says them."""
    for holder in (span.attributes, *(attributes for _, attributes in span.events)):
        if "gen_ai.input.messages" in holder:
            yield _messages(_parsed(holder["gen_ai.input.messages"]))
    yield [_of_event(attributes) for name, attributes in span.events if name == "gen_ai.user.message"]
    for holder in (*(attributes for _, attributes in span.events), span.attributes):
        if "gen_ai.prompt" in holder:
            yield _messages(_parsed(holder["gen_ai.prompt"]))
    numbered: dict[int, dict[str, Any]] = {}
    for key, value in span.attributes.items():
        if (found := _INDEXED.fullmatch(key)) is not None:
            numbered.setdefault(int(found[1]), {})[found[2]] = value
    yield _messages([numbered[at] for at in sorted(numbered)])


def _of_event(attributes: Mapping[str, Any]) -> Message:
    content = _parsed(attributes.get("gen_ai.event.content", attributes.get("content")))
    inner = content.get("content") if isinstance(content, dict) and "content" in content else content
    return "user", _text(inner)


def _messages(given: Any) -> list[Message]:
    """Return the messages of a list of them, or of a text, which the user said."""
    if isinstance(given, str):
        return [("user", given)]
    found = []
    for one in given if isinstance(given, list) else [given]:
        if isinstance(one, dict):
            found.append((str(one.get("role", "")).lower(), _text(one.get("parts", one.get("content")))))
    return found


def _text(given: Any) -> str:
    """Return the text of a message's content: a text, or the texts among its parts."""
    parts = _parsed(given) if isinstance(given, str) else given
    texts = [
        part.get("content", part.get("text")) if isinstance(part, dict) and part.get("type", "text") == "text" else part
        for part in (parts if isinstance(parts, list) else [parts])
    ]
    return "\n".join(text for text in texts if isinstance(text, str)) or (given if isinstance(given, str) else "")


def _parsed(value: Any) -> Any:
    """Return what an attribute holds: OpenTelemetry writes lists and objects as JSON, where it cannot nest them.

    Some instrumentations write them as Python does, in single quotes, which the conventions' own examples had.
    """
    if isinstance(value, str) and value.lstrip()[:1] in ("[", "{"):
        for read in (json.loads, ast.literal_eval):
            with suppress(ValueError, SyntaxError, RecursionError, MemoryError, TypeError):
                return read(value)
    return value
