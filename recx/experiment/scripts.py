"""In which scripts the texts of the data are written, and which words are seen in them."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from functools import cache
from unicodedata import name

import numpy as np

from recx.core.types import Array, Interactions
from recx.parts.shared.analyzer import Analyzer

MOST = 10_000  # texts that are looked at, evenly spaced
SCRIPTS = 6  # that are told apart; the rest is counted together
SHOWN, WORDS = 60, 12  # characters of an example, and words
OTHER = "other_scripts"
_ONE = {"cjk": "han", "ideographic": "han", "hiragana": "kana", "katakana": "kana", "katakana-hiragana": "kana"}


@dataclass(frozen=True)
class Scripts:
    """What the texts of users and items are written in.

    Attributes:
        of: Number of texts that were looked at.
        without_words: Number of texts in which the analyzer sees no word.
        counts: Script -> number of texts that are mostly written in it, the most frequent first.
        examples: Script -> a sentence that shows the words of one of these texts.
    """

    of: int
    without_words: int
    counts: dict[str, int]
    examples: dict[str, str]


def scripts(interactions: Interactions) -> Scripts | None:
    """Return what the texts of users and items are written in, or None if neither have texts."""
    tables = [one.table["text"] for one in (interactions.users, interactions.items) if "text" in one.table]
    texts: Array = np.concatenate(tables) if tables else np.array([], dtype=object)
    texts = texts[:: -(-len(texts) // MOST) or 1]
    if not len(texts):
        return None
    analyzer = Analyzer()
    written = [script(text) for text in texts]
    found = Counter(filter(None, written))
    named = dict(found.most_common(SCRIPTS))
    rest = found.total() - sum(named.values())
    examples = {one: _example(texts[written.index(one)], analyzer) for one in named}
    without = sum(not analyzer(text) for text in texts)
    return Scripts(len(texts), without, named | ({OTHER: rest} if rest else {}), examples)


def script(text: str) -> str:
    """Return the script of most letters of a text (``han``, ``kana``, ``latin``, ``thai`` ...), "" without letters."""
    if text.isascii():
        return "latin" if re.search("[A-Za-z]", text) else ""
    found = Counter(map(_script, text))
    del found[""]
    return max(found, key=lambda one: found[one], default="")


@cache
def _script(character: str) -> str:
    if not character.isalpha():
        return ""
    first = name(character, OTHER).split()[0].lower()
    return _ONE.get(first, first)


def _example(text: str, analyzer: Analyzer) -> str:
    start = "".join(character if character.isprintable() else " " for character in text[:SHOWN])
    words = analyzer(start)
    more = ["..."] if len(words) > WORDS or len(text) > SHOWN else []
    settings = f"ngrams={analyzer.ngrams}, split_names={str(analyzer.split_names).lower()}"
    return f'"{start}" is read as {" | ".join([*words[:WORDS], *more])} ({settings}, the defaults)'
