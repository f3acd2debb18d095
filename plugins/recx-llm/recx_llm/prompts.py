"""Prompts: Jinja templates in files, rendered in a sandbox."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal

from jinja2 import Template, TemplateError, TemplateSyntaxError, meta
from jinja2.sandbox import ImmutableSandboxedEnvironment

from recx.plugin import InputError, did_you_mean

Mode = Literal["pointwise", "listwise"]
KEY = "ranker.prompt"
MAX_GRADE = 10
"""The best grade of a candidate (pointwise); the worst is 0."""
LARGEST = 1 << 20
"""Bytes of a file with a prompt."""
CHARACTERS = 10
"""Characters that are shown for each word that may be: some scripts have no spaces."""
NO_TEXT = "(no text)"
NAMES = {"pointwise": ("query", "history", "item", "max_grade"), "listwise": ("query", "history", "items")}
NEEDED = {"pointwise": "item", "listwise": "items"}


@dataclass(frozen=True)
class Prompt:
    """A template; it sees ``query``, ``history``, and ``item`` with ``max_grade`` (pointwise) or ``items`` (listwise).

    Attributes:
        mode: ``pointwise`` or ``listwise``.
        source: The text of the template.
        path: Its file, for errors.
    """

    mode: Mode
    source: str
    path: Path

    @classmethod
    def of(cls, mode: Mode, file: str | None) -> Prompt:
        """Return the prompt of a file, or the plugin's own of the mode.

        Raises:
            InputError: There is no such file, it is no template, or it does not show what is to be judged.
        """
        path = Path(__file__).parent / "templates" / f"{mode}.txt" if file is None else Path(file).expanduser()
        try:
            with path.open("rb") as opened:
                content = opened.read(LARGEST + 1)
            source = content.decode("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            why = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
            raise InputError(f"{KEY}={path} cannot be read ({why}): name a text file with a prompt") from error
        if len(content) > LARGEST:
            raise InputError(f"{KEY}={path} has more than {LARGEST:,} bytes: name a text file with a prompt")
        prompt = cls(mode, source, path)
        prompt.check()
        return prompt

    def check(self) -> None:
        """Raise InputError unless it is a template with known names that shows a user and what is to be judged."""
        try:
            names = meta.find_undeclared_variables(_environment().parse(self.source))
        except TemplateSyntaxError as error:
            raise InputError(
                f"{KEY}={self.path}, line {error.lineno}: {error.message}: correct the template"
            ) from error
        known, needed = NAMES[self.mode], NEEDED[self.mode]
        for name in sorted(names.difference(known)):
            raise InputError(f"{KEY}={self.path}: {{{{ {name} }}}} is unknown: {did_you_mean(name, known)}")
        if needed not in names:
            raise InputError(
                f"{KEY}={self.path}: it does not use {needed}, what is to be judged: add {{{{ {needed} }}}}"
            )
        if not names & {"query", "history"}:
            raise InputError(f"{KEY}={self.path}: it shows neither query nor history: add {{{{ query }}}}")

    @property
    def digest(self) -> str:
        """A digest of the template."""
        return hashlib.blake2b(self.source.encode(), digest_size=8).hexdigest()

    @cached_property
    def _template(self) -> Template:
        return _environment().from_string(self.source)

    def text(self, query: str, history: Sequence[str], items: Sequence[str]) -> str:
        """Return the prompt for some candidates, or for one (pointwise).

        Raises:
            InputError: The template fails.
        """
        shown = {"item": items[0], "max_grade": MAX_GRADE} if self.mode == "pointwise" else {"items": list(items)}
        try:
            return self._template.render(query=query, history=list(history), **shown)
        except (TemplateError, ArithmeticError, LookupError, TypeError, ValueError) as error:
            raise InputError(f"{KEY}={self.path} fails ({error}): correct the template") from error


def shown(text: object, max_words: int | None) -> str:
    """Return a text on one line, of at most so many words and ten times as many characters."""
    words = str(text).encode("utf-8", "replace").decode().split()  # no half of a character
    if max_words is None:
        return " ".join(words)
    return " ".join(words[:max_words])[: CHARACTERS * max_words]


def _environment() -> ImmutableSandboxedEnvironment:
    """Return an environment without files; texts of the data are values, which are never rendered themselves."""
    return ImmutableSandboxedEnvironment(autoescape=False, keep_trailing_newline=False)  # it is no HTML
