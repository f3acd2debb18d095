"""Reads spans of OpenTelemetry: OTLP's JSON, whole or one object a line, and spans one a line, as SDKs print them.

{"resourceSpans": [{"scopeSpans": [{"spans": [{traceId, spanId, parentSpanId, name, startTimeUnixNano, attributes:
[{"key", "value": {"stringValue"}}], events, status}]}]}]}. Log records of the same files (``resourceLogs``) are events
of the spans that they name.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from recx.core.errors import InputError
from recx.parts.dataset.otel_values import attributes_of, either, moment_of, value_of
from recx.storage.readers.content import content
from recx.storage.readers.json import parsed, read_json

GROUPS = {
    "resourceSpans": ("scopeSpans", "instrumentationLibrarySpans", "spans"),
    "resourceLogs": ("scopeLogs", "instrumentationLibraryLogs", "logRecords"),
}
"""Key of a resource's records -> the keys of its scopes, and the key of the records of a scope."""
FAILED = ("2", "ERROR", "STATUS_CODE_ERROR")
Event = tuple[str, Mapping[str, Any]]


@dataclass(frozen=True)
class Span:
    """One operation of a trace.

    Attributes:
        trace: Id of the trace.
        id: Id of the span.
        parent: Id of the span that it is part of; "" if there is none.
        name: Its name.
        start: When it began, in nanoseconds since 1970; 0 if unknown.
        failed: Whether it ended in an error.
        attributes: Its attributes.
        events: What happened in it: name and attributes, in order.
    """

    trace: str
    id: str
    parent: str
    name: str
    start: int
    failed: bool
    attributes: Mapping[str, Any]
    events: list[Event] = field(default_factory=list)


def read_spans(paths: Sequence[Path], notes: Counter[str]) -> list[Span]:
    """Return the spans of files, in the order of the files.

    Args:
        paths: The files.
        notes: Receives counts: ``spans``, ``spans_twice`` (exported again, and left out), ``logs_without_span``, and
            ``documents_of_other_signals``, such as metrics.

    Raises:
        InputError: A file cannot be read, is no JSON of spans, or a span lacks its ids.
    """
    spans: dict[tuple[str, str], Span] = {}
    logs: list[tuple[tuple[str, str], Event]] = []
    for path in paths:
        for document, where in _documents(path):
            notes["documents_of_other_signals"] += isinstance(document, dict) and _is_other(document)
            try:
                for record, place in _records(document, "resourceSpans", where):
                    span = _span(record, place)
                    notes["spans_twice"] += (span.trace, span.id) in spans
                    spans.setdefault((span.trace, span.id), span)
                logs += (_log(record, place) for record, place in _records(document, "resourceLogs", where))
            except RecursionError as error:
                raise InputError(f"{where}: it is nested too deeply to be read: correct the file") from error
    for key, event in logs:
        if key in spans:
            spans[key].events.append(event)
        notes["logs_without_span"] += key not in spans
    notes["spans"] = len(spans)
    if not spans:
        raise InputError(f"{paths[0]}: it holds no span: give traces as OTLP's JSON (resourceSpans), or a span a line")
    return list(spans.values())


def _documents(path: Path) -> Iterator[tuple[Any, str]]:
    """Yield the JSON documents of a file, one or one a line, and their places."""
    data = bytes(content(path)).removeprefix(b"\xef\xbb\xbf")
    lines = [(at, line) for at, line in enumerate(data.splitlines(), start=1) if line.strip()]
    if len(lines) > 1 and _is_object(lines[0][1]):
        for at, line in lines:
            yield parsed(line, f"{path}, line {at}"), f"{path}, line {at}"
        return
    document = read_json(path)
    for at, one in enumerate(document if isinstance(document, list) else [document], start=1):
        yield one, f"{path}, entry {at}" if isinstance(document, list) else str(path)


def _is_object(line: bytes) -> bool:
    with suppress(ValueError, RecursionError):
        return isinstance(json.loads(line), dict)
    return False


def _records(document: Any, key: str, where: str) -> Iterator[tuple[Any, str]]:
    """Yield the spans, or the log records, of a document, and their places."""
    if not isinstance(document, dict):
        raise InputError(f"{where}: it must be an object, a span or OTLP's resourceSpans: correct it")
    known = [group for group in GROUPS if either(document, group) is not None]
    if not known and key == "resourceSpans" and not _is_other(document):
        yield document, where
    if key not in known:
        return
    *scopes, inner = GROUPS[key]
    for resource in _list(document, (key,), where):
        for scope in _list(resource, scopes, f"{where}, {key}"):
            for at, record in enumerate(_list(scope, (inner,), f"{where}, {scopes[0]}"), start=1):
                yield record, f"{where}, {inner} {at}"


def _is_other(document: Mapping[str, Any]) -> bool:
    """Return whether a document is one of OTLP without spans and logs, such as metrics."""
    return any(key.startswith(("resourceM", "resource_m", "resourceP", "resource_p")) for key in document)


def _list(record: Any, keys: Iterable[str], where: str) -> list[Any]:
    if not isinstance(record, dict):
        raise InputError(f"{where}: it must be an object with {next(iter(keys))}: correct it")
    found = either(record, *keys)
    if not isinstance(found, list | None):
        raise InputError(f"{where}: {next(iter(keys))!r} must be a list: correct it")
    return found or []


def _span(record: Any, where: str) -> Span:
    if not isinstance(record, dict):
        raise InputError(f"{where}: a span must be an object: correct it")
    trace, own = _ids(record, where)
    if not trace or not own:
        raise InputError(f"{where}: it has no {'spanId' if trace else 'traceId'}, so that it is no span: correct it")
    attributes = attributes_of(record.get("attributes"), where)
    status = record.get("status")
    code = either(status, "code", "statusCode") if isinstance(status, dict) else status
    return Span(
        trace,
        own,
        _bare(either(record, "parentSpanId", "parentId")),
        str(record.get("name") or ""),
        moment_of(either(record, "startTimeUnixNano", "startTime"), where),
        str(code).upper() in FAILED or bool(attributes.get("error.type")),
        attributes,
        [
            (str(event.get("name") or ""), attributes_of(event.get("attributes"), where))
            for event in _list(record, ("events",), where)
            if isinstance(event, dict)
        ],
    )


def _ids(record: Mapping[str, Any], where: str) -> tuple[str, str]:
    inner = record.get("context")
    holder = inner if isinstance(inner, dict) else record
    found = either(holder, "traceId"), either(holder, "spanId")
    if any(not isinstance(one, str | None) for one in found):
        raise InputError(f"{where}: traceId and spanId must be texts: correct them")
    return _bare(found[0]), _bare(found[1])


def _bare(name: Any) -> str:
    """Return an id as OTLP writes it; Python's SDK begins it with 0x."""
    return str(name or "").removeprefix("0x")


def _log(record: Any, where: str) -> tuple[tuple[str, str], Event]:
    if not isinstance(record, dict):
        raise InputError(f"{where}: a log record must be an object: correct it")
    attributes = dict(attributes_of(record.get("attributes"), where))
    body = value_of(record.get("body"))
    attributes |= body if isinstance(body, dict) else {}
    name = either(record, "eventName") or attributes.get("event.name") or ""
    return _ids(record, where), (str(name), attributes)
