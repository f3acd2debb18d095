"""Descriptions of tools: recx's own, function schemas as OpenAI has them, and tools as MCP lists them.

Own: {"tools": {name: {description, inputs}}}. OpenAI: [{"type": "function", "function": {name, description,
parameters}}], or, as its Responses API, the same without the inner object. MCP: {"tools": [{name, title, description,
inputSchema}]}, the result of ``tools/list``. A list of tools may stand alone, under ``tools``, or under ``result``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from recx.core.errors import InputError
from recx.storage.readers.json import entry, shown

SCHEMAS = {
    "function": "a function schema of OpenAI's Chat Completions",
    "parameters": "a function schema of OpenAI's Responses",
    "inputSchema": "a tool of MCP",
    "input_schema": "a tool of Anthropic's Messages",
    "inputs": "a tool of recx",
}
"""Key -> what a record that has it is."""
_INNER = ("items", "prefixItems", "anyOf", "oneOf", "allOf", "additionalProperties", "$defs", "definitions")
"""Keys of a JSON Schema under which further schemas stand."""


@dataclass(frozen=True)
class Tool:
    """A described tool.

    Attributes:
        name: Its name.
        text: The words of its name, its title and description, and its inputs: as they stand, or the names and
            descriptions of the parameters of a schema.
        described: Whether it has a description.
        record: All that is said of it.
    """

    name: str
    text: str
    described: bool
    record: Mapping[str, Any]


def tools_of(document: Any, where: str) -> dict[str, Tool]:
    """Return the tools of a document by name.

    Args:
        document: What the file holds.
        where: The file, for errors.

    Raises:
        InputError: The document is no list of tools or only a page of one, a tool is of no known form or of two, it
            has no name, or a name appears twice.
    """
    holder = document
    if isinstance(document, dict) and "result" in document:
        if "tools" in document:
            raise InputError(f"{where}: it has both 'tools' and 'result', which may say different things: keep one")
        holder = entry(document, "result", dict, where)
    tools = holder if isinstance(holder, list) else entry(holder, "tools", (dict, list), where)
    if not tools:
        raise InputError(f"{where}: 'tools' is empty: provide at least one tool")
    if isinstance(holder, dict) and holder.get("nextCursor"):
        raise InputError(
            f"{where}: it is one page of the tools, since nextCursor is {shown(holder['nextCursor'])}: write "
            "the tools of all pages into one list"
        )
    if isinstance(tools, dict):
        return {name: _own(name, tool, f"{where}, tool {name!r}") for name, tool in tools.items()}
    return by_name((tool_of(tool, f"{where}, tool {at}") for at, tool in enumerate(tools, start=1)), where)


def by_name(tools: Iterator[Tool], where: str) -> dict[str, Tool]:
    """Return tools by name.

    Raises:
        InputError: Two have the same name.
    """
    found: dict[str, Tool] = {}
    for tool in tools:
        if tool.name in found:
            raise InputError(f"{where}: two tools are called {tool.name!r}: rename or remove one of them")
        found[tool.name] = tool
    return found


def text_of_tool(name: str, description: str, inputs: Any) -> str:
    """Return the text that stands for a tool: the words of its name, its description, and its inputs, text or JSON."""
    text = inputs if isinstance(inputs, str) else json.dumps(inputs, ensure_ascii=False)
    return " ".join(filter(None, (words_of_name(name), description, text)))


def words_of_name(name: str) -> str:
    """Return a tool's name with blanks between its words: ``sendSMS_to`` -> ``send SMS to``."""
    return " ".join(re.sub(r"(?<=[a-z0-9])(?=[A-Z])|[_-]", " ", name).split())


def _own(name: str, tool: Any, where: str) -> Tool:
    description = entry(tool, "description", str, where)
    return Tool(name, text_of_tool(name, description, tool.get("inputs", "")), bool(description.strip()), tool)


def tool_of(tool: Any, where: str, *, bare: bool = False) -> Tool:
    """Return the tool of a record of a list.

    Args:
        tool: The record: a function schema of OpenAI, a tool of MCP, or one of recx with its name.
        where: Its place, for errors.
        bare: Whether it may also have no key that describes its inputs.

    Raises:
        InputError: It is of no known form or of two, or it has no name.
    """
    if not isinstance(tool, Mapping):
        raise InputError(f"{where}: it is {shown(tool)}, and must be an object with a name: correct it")
    forms = [key for key in SCHEMAS if key in tool]
    if len(forms) > 1:
        raise InputError(
            f"{where}: it has both {forms[0]!r}, as {SCHEMAS[forms[0]]}, and {forms[1]!r}, as {SCHEMAS[forms[1]]}: "
            "keep the one that describes its inputs"
        )
    kind = tool.get("type", "function")
    if forms[:1] in ([], ["function"], ["parameters"]) and kind not in ("function", "custom"):
        raise InputError(f"{where}: its type is {shown(kind)}, not function, so it has no schema: leave it out")
    if not (forms or bare or "type" in tool):
        raise InputError(
            f"{where}: nothing says what its inputs are, so that it is no tool of OpenAI, MCP or recx: give it "
            "'parameters', 'inputSchema' or 'inputs'"
        )
    return _described(_flat(tool, where) if forms == ["function"] else tool, forms, where)


def _flat(tool: Mapping[str, Any], where: str) -> Mapping[str, Any]:
    """Return what is said of a function beside and in it, as one record."""
    function = entry(tool, "function", Mapping, where)
    for key in tool.keys() & function.keys():
        if tool[key] != function[key]:
            raise InputError(f"{where}: {key!r} differs beside the function and in it: keep one of them")
    return {**tool, **function}


def _described(record: Mapping[str, Any], forms: list[str], where: str) -> Tool:
    name = entry(record, "name", str, where)
    if not name.strip():
        raise InputError(f"{where}: its name is empty: give it one")
    place = f"{where} ({name!r})"
    notes = record.get("annotations")
    inner = notes.get("title") if isinstance(notes, Mapping) else None
    title, description = (
        entry({key: value}, key, str, place) if value is not None else ""
        for key, value in (("title", record.get("title", inner)), ("description", record.get("description")))
    )
    if forms == ["inputs"]:
        return Tool(name, text_of_tool(name, description, record["inputs"]), bool(description.strip()), record)
    key = "parameters" if forms in ([], ["function"]) else forms[0]
    schema = record.get(key)
    if schema is not None and not isinstance(schema, Mapping):
        raise InputError(f"{place}: {key!r} is {shown(schema)}, and must be a JSON Schema, an object")
    meta = record.get("_meta")
    said = {**meta, **record} if isinstance(meta, Mapping) else record
    words = (words_of_name(name), title, description, *_parameters(schema))
    return Tool(name, " ".join(word for word in words if word), bool(description.strip()), said)


def _parameters(schema: Any) -> Iterator[str]:
    """Yield the words of the name, and the description, of every parameter of a JSON Schema, inner ones after it."""
    pending = [schema]
    while pending:
        at = pending.pop()
        if isinstance(at, str):
            yield at
        elif isinstance(at, Mapping):
            pending += reversed([*_properties(at.get("properties")), *_inner(at)])


def _properties(properties: Any) -> Iterator[Any]:
    """Yield of each property the words of its name, its description, and its schema."""
    for name, schema in properties.items() if isinstance(properties, Mapping) else ():
        yield words_of_name(str(name))
        if isinstance(schema, Mapping):
            description = schema.get("description")
            yield description if isinstance(description, str) else ""
            yield schema


def _inner(schema: Mapping[str, Any]) -> Iterator[Any]:
    """Yield the schemas that stand in another one, besides its properties."""
    for key in _INNER:
        found = schema.get(key)
        if isinstance(found, Mapping):
            yield from found.values() if key in ("$defs", "definitions") else (found,)
        elif isinstance(found, list):
            yield from (one for one in found if isinstance(one, Mapping))
