"""One pool of tools in every form in which tools are described, and one sentence where the form is in doubt."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from recx.core.errors import InputError
from recx.parts.dataset.tool_pool import ToolPool
from recx.parts.dataset.tool_schemas import tool_of, tools_of, words_of_name
from recx.parts.dataset.tool_selection import ToolSelection

SCHEMA = {
    "type": "object",
    "description": "not of a parameter",
    "properties": {
        "departureCity": {"type": "string", "description": "where the flight starts"},
        "when": {
            "type": "object",
            "description": "its time",
            "properties": {"items": {"type": "array", "items": {"properties": {"day": {"description": "a date"}}}}},
        },
        "seat": {"anyOf": [{"properties": {"row": {}}}, {"type": "null"}]},
        "class": {"$ref": "#/$defs/Class"},
    },
    "$defs": {"Class": {"properties": {"name": {"description": "first or second"}}}},
}
WORDS = "departure City where the flight starts when its time items day a date seat row class name first or second"
TOOL = {"name": "search_flights", "description": "Finds flights."}
FUNCTION = {**TOOL, "parameters": SCHEMA}
FORMS: dict[str, Any] = {
    "chat completions": [{"type": "function", "function": FUNCTION}],
    "responses": {"model": "m", "tools": [{"type": "function", "strict": True, **FUNCTION}]},
    "mcp": {"tools": [{**TOOL, "inputSchema": SCHEMA, "outputSchema": {"properties": {"price": {}}}}]},
    "json-rpc": {"jsonrpc": "2.0", "id": 1, "result": {"tools": [{**TOOL, "inputSchema": SCHEMA}], "nextCursor": ""}},
    "anthropic": [{**TOOL, "input_schema": SCHEMA}],
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_a_schema_is_the_same_tool(form: str) -> None:
    found = tools_of(FORMS[form], "here")
    assert list(found) == ["search_flights"]
    assert found["search_flights"].text == f"search flights Finds flights. {WORDS}"
    assert found["search_flights"].described


def test_what_is_optional_may_be_missing() -> None:
    tools = [
        {"type": "function", "function": {"name": "now"}},
        {"type": "function", "name": "later", "description": None, "parameters": None},
        {"name": "mail", "title": "Send mail", "inputSchema": {"type": "object"}},
        {"name": "fax", "annotations": {"title": "Send a fax"}, "description": "By wire", "inputSchema": {}},
        {"name": "calc", "description": "computes", "inputs": ["a", "b"]},
    ]
    found = tools_of(tools, "here")
    assert [tool.text for tool in found.values()] == [
        "now", "later", "mail Send mail", "fax Send a fax By wire", 'calc computes ["a", "b"]',
    ]  # fmt: skip
    assert [tool.described for tool in found.values()] == [False, False, False, True, True]
    assert tool_of(TOOL, "here", bare=True).text == "search flights Finds flights."


def test_own_pools_read_as_before() -> None:
    found = tools_of({"tools": {"sendSMS_to": {"description": "sends", "inputs": {"to": "a number"}}}}, "here")
    assert found["sendSMS_to"].text == 'send SMS to sends {"to": "a number"}'
    assert words_of_name("sendSMS_to-all") == "send SMS to all"


@pytest.mark.parametrize(
    ("document", "said"),
    [
        ([], "here: 'tools' is empty"),
        ({"tools": []}, "here: 'tools' is empty"),
        ({"functions": [FUNCTION]}, "here: it has no key 'tools'"),
        ({"tools": "x"}, "'tools' is \"x\", and must be an object or a list"),
        ({"tools": [FUNCTION], "result": {"tools": []}}, "it has both 'tools' and 'result'"),
        ({"tools": [FUNCTION], "nextCursor": "p2"}, 'one page of the tools, since nextCursor is "p2"'),
        (["search"], 'here, tool 1: it is "search", and must be an object'),
        ([FUNCTION, FUNCTION], "here: two tools are called 'search_flights'"),
        ([{**FUNCTION, "inputSchema": {}}], "tool 1: it has both 'parameters', as a function schema of OpenAI's Resp"),
        ([{**FUNCTION, "function": FUNCTION}], "it has both 'function'"),
        ([{"type": "function", "name": "a", "function": FUNCTION}], "'name' differs beside the function and in it"),
        ([{"type": "web_search"}], 'tool 1: its type is "web_search", not function'),
        ([{**FUNCTION, "type": "namespace"}], 'its type is "namespace", not function'),
        ([{**TOOL, "args": {}}], "nothing says what its inputs are"),
        ([{"description": "x", "inputSchema": {}}], "tool 1: it has no key 'name'"),
        ([{"name": " ", "inputSchema": {}}], "its name is empty"),
        ([{"name": "a", "inputSchema": "x"}], "('a'): 'inputSchema' is \"x\", and must be a JSON Schema"),
        ([{"name": "a", "description": 3, "parameters": {}}], "'description' is 3, and must be text"),
        ([{"name": "a", "title": [], "inputSchema": {}}], "'title' is [], and must be text"),
        ([{"type": "function", "function": "a"}], "'function' is \"a\", and must be an object"),
    ],
)
def test_what_is_in_doubt_is_refused_in_one_sentence(document: Any, said: str) -> None:
    with pytest.raises(InputError) as error:
        tools_of(document, "here")
    assert said in str(error.value)
    assert "\n" not in str(error.value)


def test_a_pool_of_schemas_answers_tasks(tmp_path: Path) -> None:
    rated = [
        {"type": "function", "function": {"name": "mail", "description": "sends mail"}, "success": 0.5},
        {"name": "calc", "_meta": {"success": 0.25}, "inputSchema": {"properties": {"formula": {}}}},
        {"name": "idle", "description": "waits", "parameters": {}},
    ]
    (tmp_path / "tool_pool.json").write_text(json.dumps(rated))
    tasks = [{"trace_id": "t", "node_id": "n", "task": "post it", "ground_truth": "mail"}]
    (tmp_path / "tool_selection.json").write_text(json.dumps({"selections": tasks}))
    data = ToolSelection(str(tmp_path), reliability="success").load()
    assert data.items.table["text"].tolist() == ["calc formula", "idle waits", "mail sends mail"]
    assert data.items.table["reliability"].tolist()[::2] == [0.25, 0.5]
    assert data.notes["tools_without_description"] == 1
    assert data.notes["tools_without_reliability"] == 1
    assert ToolPool.read(tmp_path / "tool_pool.json").reliability is None
