"""Reads JSON files, plain or gzipped, one document or one a line, and says in a sentence what is wrong with them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from recx.core.errors import InputError, did_you_mean
from recx.storage.readers.tables import content

_HALF = re.compile(rb"\\u[dD][89a-fA-F]")  # of a character beyond the first 65,536; whole ones are two such halves


def read_json(path: Path) -> Any:
    """Return the document of a file.

    Raises:
        InputError: the file is missing, empty, binary or torn, or it is not JSON.
    """
    return _parsed(bytes(content(path)), str(path))


def read_json_lines(path: Path) -> Iterator[tuple[int, Any]]:
    """Yield (line number from 1, document) of every line that is not blank; raises as ``read_json`` does."""
    for number, line in enumerate(bytes(content(path)).splitlines(), start=1):
        if line.strip():
            yield number, _parsed(line, f"{path}, line {number}")


def _parsed(data: bytes, where: str) -> Any:
    try:
        document = json.loads(data, object_pairs_hook=lambda pairs: _once(pairs, where))
        if _HALF.search(data):
            json.dumps(document, ensure_ascii=False).encode()
        return document
    except UnicodeEncodeError as error:
        before = error.object[max(0, error.start - 20) : error.start]
        half = f"\\u{ord(error.object[error.start]):x}"
        raise InputError(f"{where}: {half} behind {before!r} is half of a character: correct the file") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{where}: byte {error.start + 1} is not UTF-8: save the file as UTF-8") from error
    except json.JSONDecodeError as error:
        line = f"line {error.lineno}, column {error.colno}" if error.lineno > 1 else f"column {error.colno}"
        raise InputError(f"{where}: it is not JSON at {line} ({error.msg}): correct the file") from error
    except ValueError as error:  # Python's limit on the digits of a number
        raise InputError(f"{where}: a number in it is longer than any may be: correct the file") from error
    except RecursionError as error:
        raise InputError(f"{where}: it is nested too deeply to be read: correct the file") from error


def _once(pairs: list[tuple[str, Any]], where: str) -> dict[str, Any]:
    """Return an object; JSON allows a key to stand twice in it, of which the first would be lost unseen."""
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        key = next(key for key in keys if keys.count(key) > 1)
        raise InputError(f"{where}: the key {key!r} stands twice in one object: rename or remove one of them")
    return found


def entry(record: Any, key: str, kind: type | tuple[type, ...], where: str) -> Any:
    """Return what stands at a key of a record.

    Raises:
        InputError: it is missing, or of another kind.
    """
    if not isinstance(record, Mapping):
        raise InputError(
            f"{where}: it must be an object with the key {key!r}, and is {_shown(record)}: correct the file"
        )
    if key not in record:
        raise InputError(f"{where}: it has no key {key!r}: {did_you_mean(key, record)}")
    value = record[key]
    if not isinstance(value, kind) or isinstance(value, bool):
        raise InputError(f"{where}: {key!r} is {_shown(value)}, and must be {_said(kind)}: correct the file")
    return value


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _said(kind: type | tuple[type, ...]) -> str:
    names = {str: "a text", list: "a list", dict: "an object", int: "a whole number", float: "a number"}
    kinds = kind if isinstance(kind, tuple) else (kind,)
    return " or ".join(names[one] for one in kinds)
