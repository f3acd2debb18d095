"""The two ways in which a run can fail, each reported in one sentence.

The sentence says what is wrong, where (file, column, row, key), and the way out. The command line prints it
without a traceback and exits with the error's exit code; ``RECX_DEBUG=1`` shows the traceback as well.
"""

from __future__ import annotations

import traceback
from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import Path

from recx.core.exit_codes import FAILED, UNUSABLE
from recx.core.secrets import hidden

LONGEST_NAME = 80
"""Longer names are truncated: the "header" of a file that is not a table may be a megabyte long."""


class RecxError(Exception):
    """A run failed for a reason that the message explains."""

    exit_code = FAILED

    def __init__(self, *arguments: object) -> None:
        super().__init__(*(hidden(one) if isinstance(one, str) else one for one in arguments))


class InputError(RecxError):
    """The user's data or configuration cannot be used."""

    exit_code = UNUSABLE


def reason(error: BaseException) -> str:
    """Return why something failed, in one line; the message of an unexpected error follows its type."""
    text = hidden(" ".join(str(error).split()))
    return text if isinstance(error, RecxError) else f"{type(error).__name__}: {text}"


def unexpected(error: BaseException) -> str:
    """Return a sentence about an error that no part of recx foresaw, with the line that raised it."""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    place = f"{type(error).__name__} in {Path(frame.filename).name}, line {frame.lineno}"
    return f"unexpected error, {place}: {error} (RECX_DEBUG=1 shows the traceback)"


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return the end of an error message: the closest of the known names, or else the first dozen of them.

    Args:
        name: What was given.
        known: The names that there are.
    """
    names = sorted(one if len(one) <= LONGEST_NAME else f"{one[: LONGEST_NAME - 1]}…" for one in known)
    near = get_close_matches(name, names, n=1, cutoff=0.6)
    if near:
        return f"did you mean {near[0]!r}?"
    some = ", ".join(names[:12]) + (f" … ({len(names)} in all)" if len(names) > 12 else "")
    return f"choose one of: {some}" if names else "there is nothing to choose from here"
