"""Text for people: nothing in it controls the terminal, and every console can show it.

Ids, texts and names come from data files and could hold control characters, such as those that change the title of a
terminal or clear it. Whatever recx prints passes ``visible``, here or in ``recx.report.terminal.text_table``.
"""

from __future__ import annotations

import codecs
import io
import sys
from typing import TextIO

from recx.core.secrets import hidden

JOINERS = "\u200c\u200d"
"""They control nothing but how letters of Persian, Hindi and others join."""
SPELLED = {"…": "...", "–": "-", "—": "-", "•": "*", "×": "x", "−": "-", "’": "'", "→": "->", "\u00a0": " "}
"""How recx's own signs are written where a console cannot show them; any other sign becomes an escape, as in Python."""
ERRORS = "recx.spelled"
"""The name of that rule among the error handlers of ``codecs``."""


def visible(text: str) -> str:
    r"""Return a text with control characters as escapes such as ``\x1b``, and no password; line ends and tabs stay."""
    text = hidden(text)
    return text if text.isprintable() else "".join(map(_visible, text))


def one_line(text: str) -> str:
    """Return the same on one line."""
    return visible(text).replace("\n", " ").replace("\t", " ")


def _visible(sign: str) -> str:
    if sign.isprintable() or sign in "\n\t" or sign in JOINERS:
        return sign
    if sign == "\x7f":  # JSON does not know \x7f
        return "\\u007f"
    return " " if sign.isspace() else sign.encode("unicode_escape").decode("ascii")


def echo(text: object = "", *, to: TextIO | None = None, end: str = "\n", flush: bool = False) -> None:
    """Print a text, on stdout by default, as ``visible`` returns it."""
    stream = sys.stdout if to is None else to
    tolerant(stream)
    print(visible(str(text)), file=stream, end=end, flush=flush)


def tolerant(stream: TextIO) -> None:
    """Let a stream write what its encoding lacks in other signs, instead of raising an error."""
    if isinstance(stream, io.TextIOWrapper) and stream.errors != ERRORS:
        stream.reconfigure(errors=ERRORS)


def _spelled(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    signs = error.object[error.start : error.end]
    spelled = (SPELLED.get(sign) or sign.encode("unicode_escape").decode("ascii") for sign in signs)
    return "".join(spelled), error.end


codecs.register_error(ERRORS, _spelled)
