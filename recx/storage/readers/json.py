"""Reads JSON files, plain or gzipped, one document or one per line, with one-sentence errors."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from recx.core.errors import InputError, did_you_mean
from recx.storage.readers.content import content

_HALF = re.compile(rb"\\u[dD][89a-fA-F]")  # a surrogate; a character beyond the first 65,536 is a pair of them
_NAMES = {
    str: "text",
    list: "a list",
    dict: "an object",
    Mapping: "an object",
    int: "a whole number",
    float: "a number",
}


def read_json(path: Path) -> Any:
    """Return the document of a file.

    Raises:
        InputError: The file is missing, empty, binary or damaged, or it is not JSON.
    """
    return parsed(bytes(content(path)), str(path))


def read_json_lines(path: Path) -> Iterator[tuple[int, Any]]:
    """Yield (line number from 1, document) of every line that is not blank (raises like ``read_json``)."""
    for number, line in enumerate(bytes(content(path)).splitlines(), start=1):
        if line.strip():
            yield number, parsed(line, f"{path}, line {number}")


def parsed(data: bytes, where: str) -> Any:
    """Return the document of some bytes; ``where`` says for errors where they are (raises like ``read_json``)."""
    try:
        document = json.loads(data, object_pairs_hook=lambda pairs: _once(pairs, where))
        if _HALF.search(data):
            json.dumps(document, ensure_ascii=False).encode()
        return document
    except UnicodeEncodeError as error:
        before = error.object[max(0, error.start - 20) : error.start]
        half = f"\\u{ord(error.object[error.start]):x}"
        raise InputError(f"{where}: {half} after {before!r} is half of a character: correct the file") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{where}: byte {error.start + 1} is not UTF-8: save the file as UTF-8") from error
    except json.JSONDecodeError as error:
        line = f"line {error.lineno}, column {error.colno}" if error.lineno > 1 else f"column {error.colno}"
        raise InputError(f"{where}: it is not JSON at {line} ({error.msg}): correct the file") from error
    except ValueError as error:  # Python's limit on the digits of a number
        raise InputError(f"{where}: a number in it has too many digits: correct the file") from error
    except RecursionError as error:
        raise InputError(f"{where}: it is nested too deeply to be read: correct the file") from error


def _once(pairs: list[tuple[str, Any]], where: str) -> dict[str, Any]:
    """Return an object without repeated keys, which JSON allows and of which all but the last would be lost."""
    found = dict(pairs)
    if len(found) < len(pairs):
        [(key, _)] = Counter(key for key, _ in pairs).most_common(1)
        raise InputError(f"{where}: the key {key!r} occurs twice in one object: rename or remove one of them")
    return found


def entry(record: Any, key: str, kind: type | tuple[type, ...], where: str) -> Any:
    """Return the value of a key of a record.

    Args:
        record: The document, or a part of it.
        key: The key.
        kind: The type or types that the value may have.
        where: The place of the record, for errors.

    Raises:
        InputError: The value is missing or of another type.
    """
    if not isinstance(record, Mapping):
        raise InputError(f"{where}: it must be an object with the key {key!r}, and is {shown(record)}: correct it")
    if key not in record:
        raise InputError(f"{where}: it has no key {key!r}: {did_you_mean(key, record)}")
    value = record[key]
    if not isinstance(value, kind) or isinstance(value, bool):
        kinds = kind if isinstance(kind, tuple) else (kind,)
        expected = " or ".join(_NAMES[one] for one in kinds)
        raise InputError(f"{where}: {key!r} is {shown(value)}, and must be {expected}: correct the file")
    return value


def shown(value: Any) -> str:
    """Return a value as an error shows it: as JSON, and not all of a long one."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 60 else f"{text[:57]}..."
