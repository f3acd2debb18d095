"""Overrides as people type them: one text or a list, values that Hydra reads only in quotes."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from typing import Any

from hydra.errors import OverrideParseException

from recx.config.hydra_internals import parse
from recx.core.errors import InputError

_PLAIN = re.compile(r"[+~]*[\w@./]+=[\w./+:-]*", re.ASCII)
"""Overrides that Hydra reads as they are, which are most."""
_GRAMMAR = re.compile(r"\s*([\[{\"']|(choice|glob|interval|range|shuffle|sort|tag)\()|.*(,|\$\{)", re.DOTALL)
"""Values in which a mistake may be meant for Hydra: lists, mappings, quoted texts, sweeps, interpolations."""


def listed(overrides: str | Sequence[str]) -> list[str]:
    """Return overrides as a list; a single text is split like a command line, except that backslashes are kept.

    Raises:
        InputError: A quote in the text is not closed.
    """
    if not isinstance(overrides, str):
        return list(overrides)
    words = shlex.shlex(overrides, posix=True, punctuation_chars=False)
    words.whitespace_split, words.commenters, words.escape = True, "", ""
    try:
        return list(words)
    except ValueError as error:
        raise InputError(f"{overrides!r} cannot be split into overrides ({error}): close every quote") from error


def readable(overrides: str | Sequence[str]) -> list[str]:
    """Return overrides that Hydra can read: a value such as ``a (1).csv``, which its grammar refuses, is quoted.

    A value that may be meant as a list, a sweep or an interpolation is left as it is.
    """
    return [override if _PLAIN.fullmatch(override) else _readable(override) for override in listed(overrides)]


def check_single(overrides: Sequence[str]) -> None:
    """Raise InputError for an override of a sweep, which a single run would pass over."""
    for override in overrides:
        key, _, value = override.lstrip("+").partition("=")
        if key in ("sweep", "sweep_id", "resume", "baseline", "choose") or (key, value) == ("hydra.mode", "MULTIRUN"):
            raise InputError(
                f"{override}: this is for a sweep, which runs many trials: put -m in front (from Python: recx.sweep)"
            )


def quoted(override: str) -> str:
    """Return an override with its value in the quotes that Hydra reads."""
    key, _, value = override.partition("=")
    escaped = re.sub(r"(\\*)'", r"\1\1\\'", value)
    ending = re.search(r"\\*$", escaped)
    return f"{key}='{escaped}{ending[0] if ending else ''}'"


def given(overrides: Sequence[str]) -> dict[str, Any]:
    """Return what overrides give each key; nothing if one cannot be read, which composing explains."""
    try:
        return {one.key_or_group: one.value() for one in parse(readable(overrides))}
    except (OverrideParseException, InputError):
        return {}


def exact(key: str, value: str | int | bool | None) -> str:
    """Return an override that gives a key this very value, which may hold any character."""
    if not isinstance(value, str):
        return f"{key}={'null' if value is None else str(value).lower()}"
    plain = f"{key}={value}"
    is_text = _PLAIN.fullmatch(plain) and isinstance(parse([plain])[0].value(), str)
    return plain if is_text else quoted(plain)


def _readable(override: str) -> str:
    key, equals, value = override.partition("=")
    if value.isspace():
        return quoted(override)  # a delimiter, of which Hydra would leave nothing
    try:
        parse([override])
    except OverrideParseException:
        if equals and re.fullmatch(r"\+*[\w@./]+", key) and not _GRAMMAR.match(value):
            return quoted(override)
    return override
