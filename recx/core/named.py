"""What a command line and option files name, so that it is known whether somebody typed it.

It is found in their texts: classes and objects (``module.Class``, ``module:name``), addresses (``s3://…``), those of
servers under ``url``, and commands (``command=[program,argument]``), whose name is the list as JSON, with passwords
hidden.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from recx.core.errors import InputError
from recx.core.secrets import hidden

_KEY = re.compile(r"\b(?:_target_|object)[\"']?\s*[:=]")
_NAME = re.compile(r"[^\W\d][\w.]*(?::\w+)?")
_ADDRESS = re.compile(r"[a-z][a-z0-9+]*://[^\s,'\"\[\]{}]+")
KEY = "command"
"""Name of the settings that hold a command."""
URL = "url"
"""Name of the settings that hold the address of a server, to which data is sent."""
_LIST = re.compile(r"""\[(?:[^\[\]"']|"(?:[^"\\]|\\.)*"|'[^']*')*\]""")


def names_in(texts: Iterable[str]) -> frozenset[str]:
    """Return the dotted names that follow ``_target_`` or ``object`` on a line."""
    lines = [line[key.end() :] for text in texts for line in text.splitlines() for key in _KEY.finditer(line)]
    return frozenset(name for line in lines for name in _NAME.findall(line) if "." in name or ":" in name)


def addresses_in(overrides: Iterable[str]) -> frozenset[str]:
    """Return the addresses in overrides, with passwords hidden."""
    return frozenset(hidden(one) for text in overrides for one in _ADDRESS.findall(text))


def command_name(command: Sequence[str]) -> str:
    """Return the name of a command."""
    return hidden(json.dumps(list(command), ensure_ascii=False))


def commands_in(overrides: Iterable[str]) -> frozenset[str]:
    """Return the names of the commands in overrides, such as ``retriever.command=[python,als.py]``."""
    found = [one for text in overrides if KEY in text for one in _LIST.findall(text[text.index(KEY) :])]
    return frozenset(command_name(one) for text in found for one in _commands({KEY: _parsed(text)}))


def commands_of(texts: Mapping[Path, str]) -> frozenset[str]:
    """Return the names of the commands in option files, given file -> its text."""
    contents = [_parsed(text, path) for path, text in texts.items() if KEY in text]
    return frozenset(command_name(one) for content in contents for one in _commands(content))


def urls_of(texts: Mapping[Path, str]) -> frozenset[str]:
    """Return the addresses of servers in option files, with passwords hidden, given file -> its text."""
    contents = [_parsed(text, path) for path, text in texts.items() if URL in text]
    found = [one for content in contents for one in _under(URL, content)]
    return frozenset(hidden(one) for one in found if isinstance(one, str))


def _parsed(text: str, path: Path = Path("override")) -> Any:
    import yaml

    from recx.core.yaml_files import parse_yaml

    with suppress(yaml.YAMLError, InputError, RecursionError):  # whoever reads the file for its options says so
        return parse_yaml(path, text)
    return None


def _commands(content: Any) -> Iterator[list[str]]:
    """Yield the lists of texts that stand under the key of commands, at any depth."""
    for found in _under(KEY, content):
        if isinstance(found, list) and found and all(isinstance(word, str) for word in found):
            yield found


def _under(key: str, content: Any) -> Iterator[Any]:
    """Yield what stands under a key, at any depth."""
    if isinstance(content, dict):
        if key in content:
            yield content[key]
        content = list(content.values())
    for inner in content if isinstance(content, list) else ():
        yield from _under(key, inner)
