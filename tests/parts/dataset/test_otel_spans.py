"""Spans from every form of OpenTelemetry's JSON, and one sentence where a file is none."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_traces import exported, lines, pairs, span

from recx.core.errors import InputError
from recx.parts.dataset.otel_spans import Span, read_spans
from recx.parts.dataset.otel_values import attributes_of

OTLP = span("5b8e", "eee1", "eee0", 1, failed=True, tool__name="mail", usage__input_tokens=3)
EVENT = {"name": "gen_ai.content.prompt", "timeUnixNano": "1", "attributes": pairs({"gen_ai.prompt": "hi"})}
EXPECTED = Span(
    "5b8e", "eee1", "eee0", "eee1", 10**9, True,
    {"gen_ai.tool.name": "mail", "gen_ai.usage.input_tokens": 3}, [("gen_ai.content.prompt", {"gen_ai.prompt": "hi"})],
)  # fmt: skip
DOCUMENT = exported({**OTLP, "events": [EVENT]})
PYTHON = {
    "name": "eee1",
    "context": {"trace_id": "0x5b8e", "span_id": "0xeee1", "trace_state": "[]"},
    "parent_id": "0xeee0",
    "start_time": "1970-01-01T00:00:01.000000Z",
    "status": {"status_code": "ERROR"},
    "attributes": EXPECTED.attributes,
    "events": [{"name": EVENT["name"], "timestamp": "x", "attributes": {"gen_ai.prompt": "hi"}}],
    "resource": {"attributes": {}},
}
SNAKE = json.loads(
    json.dumps(DOCUMENT).replace("resourceSpans", "resource_spans").replace("scopeSpans", "scope_spans")
    .replace("traceId", "trace_id").replace("parentSpanId", "parent_span_id").replace("spanId", "span_id")
    .replace("startTimeUnixNano", "start_time_unix_nano").replace("stringValue", "string_value")
    .replace("intValue", "int_value")
)  # fmt: skip
FLAT = {
    **OTLP,
    "attributes": EXPECTED.attributes,
    "events": [{"name": EVENT["name"], "attributes": EVENT["attributes"]}],
}
FORMS = {
    "a document": json.dumps(DOCUMENT, indent=2),
    "a document in a line": json.dumps(DOCUMENT),
    "a list of documents": json.dumps([DOCUMENT, {"resourceMetrics": []}], indent=1),
    "documents in lines": lines({"resourceMetrics": []}, DOCUMENT),
    "snake case": json.dumps(SNAKE),
    "old scopes": json.dumps(DOCUMENT).replace("scopeSpans", "instrumentationLibrarySpans"),
    "a span a line": lines(FLAT, FLAT),
    "a list of spans": json.dumps([FLAT]),
    "spans of Python's SDK": lines(PYTHON, PYTHON),
}


def read(folder: Path, text: str, notes: Counter[str] | None = None) -> list[Span]:
    path = folder / "spans.json"
    path.write_text(text)
    return read_spans([path], Counter() if notes is None else notes)


@pytest.mark.parametrize("form", FORMS)
def test_every_form_is_the_same_span(tmp_path: Path, form: str) -> None:
    notes: Counter[str] = Counter()
    assert read(tmp_path, FORMS[form], notes) == [EXPECTED]
    assert notes["spans"] == 1
    assert notes["spans_twice"] == FORMS[form].count("\n") * (form in ("a span a line", "spans of Python's SDK")) // 2
    assert notes["documents_of_other_signals"] == ("resourceMetrics" in FORMS[form])


def test_log_records_are_events_of_their_spans(tmp_path: Path) -> None:
    body = {"kvlistValue": {"values": pairs({"content": "hi", "role": "user"})}}
    records = [
        {"traceId": "5b8e", "spanId": "eee1", "eventName": "gen_ai.user.message", "body": body, "attributes": []},
        {"traceId": "5b8e", "spanId": "none", "body": {"stringValue": "x"}, "attributes": pairs({"event.name": "y"})},
    ]
    logs = {"resourceLogs": [{"scopeLogs": [{"logRecords": records}]}]}
    notes: Counter[str] = Counter()
    [found] = read(tmp_path, lines(logs, exported(OTLP)), notes)
    assert found.events == [("gen_ai.user.message", {"content": "hi", "role": "user"})]
    assert notes["logs_without_span"] == 1


plain = st.recursive(
    st.text() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.text(), plain, max_size=4))
def test_attributes_come_back_from_keys_and_values(attributes: dict[str, Any]) -> None:
    assert attributes_of(json.loads(json.dumps(pairs(attributes))), "here") == attributes


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[]", "spans.json: it holds no span"),
        (json.dumps({"resourceSpans": []}), "it holds no span: give traces as OTLP's JSON"),
        ("{", "spans.json: it is not JSON"),
        ("[1]", "entry 1: it must be an object, a span or OTLP's resourceSpans"),
        (lines(FLAT, [1]), "line 2: it must be an object"),
        (lines(FLAT) + "{'name': 'x'}", "line 2: it is not JSON at column 2"),
        (json.dumps({"traces": []}), "it has no traceId, so that it is no span"),
        (json.dumps([{**FLAT, "spanId": ""}]), "entry 1: it has no spanId"),
        (json.dumps([{**FLAT, "traceId": 7}]), "entry 1: traceId and spanId must be texts"),
        (json.dumps({"resourceSpans": {}}), "'resourceSpans' must be a list"),
        (json.dumps({"resourceSpans": [1]}), "resourceSpans: it must be an object with scopeSpans"),
        (json.dumps(exported(1)), "spans 1: a span must be an object"),  # type: ignore[arg-type]
        (json.dumps([{**FLAT, "attributes": "x"}]), "'attributes' must be an object, or a list of keys and values"),
        (json.dumps([{**FLAT, "attributes": [{"value": {}}]}]), "attributes: it has no key 'key'"),
        (json.dumps([{**FLAT, "attributes": ["x"]}]), "attributes: it must be an object with the key 'key'"),
        (json.dumps([{**FLAT, "startTimeUnixNano": "soon"}]), 'its start "soon" is neither nanoseconds since 1970 nor'),
        (json.dumps([{**FLAT, "startTimeUnixNano": -1}]), "its start -1 is neither"),
        (json.dumps([{**FLAT, "startTimeUnixNano": "2026-01-01T00:00:00"}]), "nor a date with a zone"),
        (json.dumps([{**FLAT, "events": {}}]), "'events' must be a list"),
    ],
)
def test_what_is_no_span_is_refused_in_one_sentence(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(InputError) as error:
        read(tmp_path, text)
    assert said in str(error.value)
    assert "\n" not in str(error.value)
