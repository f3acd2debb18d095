"""Reads the JSON of a request strictly: what could be understood in two ways is refused."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, NoReturn
from urllib.parse import parse_qsl, unquote_to_bytes

from recx.jobs.serve.refusal import Refused

_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
"""An escape of half a sign, which may lack its other half."""


def parse(body: bytes) -> Any:
    """Return the value of a body in JSON.

    Raises:
        Refused: It is not JSON in UTF-8, it repeats a key, or it holds NaN, an infinite number, half a sign or too many
            levels.
    """
    if not body.strip():
        raise Refused(400, "the body is empty: send JSON")
    try:
        text = body.decode("utf-8")
        value = json.loads(text, object_pairs_hook=_unique, parse_constant=_constant, parse_float=_finite)
        if _SURROGATE.search(body):
            json.dumps(value, ensure_ascii=False).encode("utf-8")
    except json.JSONDecodeError as error:
        raise Refused(400, f"the body is not JSON: {error.msg} (line {error.lineno}, column {error.colno})") from None
    except RecursionError:
        raise Refused(400, "the body is nested too deeply: send what /docs describes") from None
    except UnicodeDecodeError as error:
        raise Refused(400, f"the body is not UTF-8: byte {error.start + 1} cannot be read") from None
    except UnicodeEncodeError:
        raise Refused(400, "a text in the body holds half a sign (a lone surrogate): send whole signs") from None
    except ValueError:
        raise Refused(400, "a number in the body has too many digits: send 64-bit numbers") from None
    return value


def check_query(query: bytes, repeated: Sequence[str]) -> None:
    """Check the query of an address.

    Args:
        query: What follows the question mark.
        repeated: The names that may stand there more than once.

    Raises:
        Refused: It is not UTF-8, or repeats another name.
    """
    try:
        text = query.decode("ascii")
        unquote_to_bytes(query).decode("utf-8")
    except UnicodeDecodeError:
        raise Refused(400, "the query of the address is not UTF-8 with %-escapes: encode it as such") from None
    twice = _repeated(name for name, _ in parse_qsl(text, keep_blank_values=True))
    if not twice.issubset(repeated):
        name = min(twice.difference(repeated))
        raise Refused(400, f"the query of the address holds {name[:80]!r} more than once: give one value")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        twice = min(_repeated(name for name, _ in pairs))
        raise Refused(400, f"the body holds the key {twice[:80]!r} twice in one place: send one value")
    return value


def _repeated(names: Iterable[str]) -> set[str]:
    return {name for name, count in Counter(names).items() if count > 1}


def _constant(name: str) -> NoReturn:
    raise Refused(400, f"the body holds {name}, which is not JSON: send finite numbers")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise Refused(400, f"the body holds {text[:40]}, which is beyond 64-bit numbers: send finite numbers")
    return number
