"""Spans of an agent as OTLP writes them, built by hand."""

from __future__ import annotations

import json
from typing import Any

ASKED = [
    {"role": "system", "parts": [{"type": "text", "content": "You are a bot"}]},
    {"role": "user", "parts": [{"type": "text", "content": "Weather in Paris?"}, {"type": "blob", "content": "aGk="}]},
]


def value(plain: Any) -> dict[str, Any]:
    """Return a plain value as OTLP's AnyValue."""
    if isinstance(plain, bool):
        return {"boolValue": plain}
    if isinstance(plain, int):
        return {"intValue": str(plain)}
    if isinstance(plain, float):
        return {"doubleValue": plain}
    if isinstance(plain, list):
        return {"arrayValue": {"values": [value(one) for one in plain]}}
    if isinstance(plain, dict):
        return {"kvlistValue": {"values": pairs(plain)}}
    return {"stringValue": plain}


def pairs(plain: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"key": key, "value": value(one)} for key, one in plain.items()]


def span(trace: str, own: str, parent: str, start: int, failed: bool = False, **attributes: Any) -> dict[str, Any]:
    """Return a span; attributes without ``gen_ai.``, with ``__`` for dots."""
    named = {f"gen_ai.{key.replace('__', '.')}": one for key, one in attributes.items()}
    status = {"code": 2, "message": "x"} if failed else {}
    ids = {"traceId": trace, "spanId": own, "parentSpanId": parent, "name": own}
    return {**ids, "startTimeUnixNano": str(start * 10**9), "attributes": pairs(named), "status": status, "events": []}


def agent(trace: str, start: int = 0, **attributes: Any) -> dict[str, Any]:
    return span(trace, "agent", "", start, operation__name="invoke_agent", **attributes)


def chat(trace: str, own: str, start: int, parent: str = "agent", **attributes: Any) -> dict[str, Any]:
    return span(trace, own, parent, start, operation__name="chat", **attributes)


def tool(trace: str, own: str, start: int, name: str, parent: str = "agent", **attributes: Any) -> dict[str, Any]:
    return span(trace, own, parent, start, operation__name="execute_tool", tool__name=name, **attributes)


def exported(*spans: dict[str, Any]) -> dict[str, Any]:
    return {"resourceSpans": [{"resource": {}, "scopeSpans": [{"scope": {"name": "s"}, "spans": list(spans)}]}]}


def lines(*documents: Any) -> str:
    return "".join(f"{json.dumps(one)}\n" for one in documents)
