"""The words of texts in any script: the one analyzer of BM25, TF-IDF and every feature that counts words.

A text is brought to one normal form (NFKC, case folded, decimal digits as 0 to 9). A word is a run of letters, digits
and the marks on them. Scripts that put no spaces between words (Han, kana, Thai and others) have no such words: of
their runs every few characters in a row count as words. The parts of a name such as ``sendSMS`` or ``send_sms`` are
words beside the whole name. All of it is done by regular expressions; most English texts need one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from unicodedata import category, decimal, normalize

from recx.core.bounds import PositiveInt, checked

SPACELESS = (
    (0x0E00, 0x0EFF),  # Thai, Lao
    (0x1000, 0x109F),  # Myanmar
    (0x1780, 0x17FF),  # Khmer
    (0x1950, 0x19DF),  # Tai Le, New Tai Lue
    (0x1A20, 0x1AAF),  # Tai Tham
    (0x1B00, 0x1B7F),  # Balinese
    (0x3005, 0x3007),  # Han: iteration mark, zero
    (0x3021, 0x3029),  # Han: numerals
    (0x3040, 0x30FF),  # Hiragana, Katakana
    (0x3100, 0x312F),  # Bopomofo
    (0x31A0, 0x31BF),  # Bopomofo
    (0x31F0, 0x31FF),  # Katakana
    (0x3400, 0x4DBF),  # Han
    (0x4E00, 0x9FFF),  # Han
    (0xA000, 0xA48F),  # Yi
    (0xA980, 0xA9FF),  # Javanese, Myanmar
    (0xAA60, 0xAADF),  # Myanmar, Tai Viet
    (0xF900, 0xFAFF),  # Han: compatibility
    (0x16FE0, 0x1B2FF),  # Tangut, Khitan, Nushu, further kana
    (0x20000, 0x3FFFF),  # Han: rare characters
)
"""First and last code points of the scripts that put no spaces between words."""
FAR = re.compile("[\u00ad\u02b0-\u1dff\u1f00-\u1fff\u200b-\u200f\u2060-\u206f\u2c00-\U0010ffff]")
"""A character of another script than Latin, or one that is not seen: texts without one need less work."""
_WORD = re.compile(r"\w+")
_CAMEL = re.compile("[A-Z](?:(?<=[a-z0-9][A-Z])|(?<=[A-Z]{2})(?=[a-z]))")
_INNER = re.compile(rf"{_CAMEL.pattern}|(?<=[^\W_])_+(?=[^\W_])")
_UNSEEN = re.compile("[\u00ad\u0640\u200d\u2060\ufe00-\ufe0f\ufeff\U000e0100-\U000e01ef]")
_DIGIT = re.compile(r"[^\D0-9]")
_RANGES = "".join(f"{chr(first)}-{chr(last)}" for first, last in SPACELESS)
_SPACELESS = re.compile(f"[{_RANGES}]")
_OF_NAME, _LETTER = rf"[^\W{_RANGES}]", rf"[^\W_{_RANGES}]"
_NAME = re.compile(rf"(?<!{_OF_NAME}){_OF_NAME}*(?:[a-z0-9][A-Z]|[A-Z]{{2}}[a-z]|{_LETTER}_+{_LETTER}){_OF_NAME}*")


@dataclass(frozen=True)
@checked("analyzer")
class Analyzer:
    """Finds the words of a text.

    Attributes:
        ngrams: Of scripts without spaces, up to how many characters in a row make a word.
        split_names: Whether the parts of names in CamelCase and snake_case are words, beside the whole name.
    """

    ngrams: PositiveInt = 2
    split_names: bool = True

    def __call__(self, text: str) -> list[str]:
        """Return the words of a text in their order; a word that occurs twice is there twice."""
        text = self.normal(text)
        if text.isascii() or not FAR.search(text):
            return _WORD.findall(text)
        if _SPACELESS.search(text):
            pattern, words = _runs(self.ngrams)
            text = pattern.sub(words, text)
        return _marked_word().findall(text)

    def normal(self, text: str) -> str:
        """Return the normal form of a text, in which the parts of each name stand before it."""
        if not text.isascii():
            text = normalize("NFKC", text)
            if FAR.search(text):
                text = _DIGIT.sub(lambda digit: str(decimal(digit[0])), _UNSEEN.sub("", text))
        if self.split_names and ("_" in text or _CAMEL.search(text)):
            text = _NAME.sub(lambda name: f"{_parts(name)} {name[0]}", text)
        return text.lower() if text.isascii() else normalize("NFKC", text.casefold()).replace("i\u0307", "i")


def names_split(text: str) -> str:
    """Return a text with blanks between the parts of each name: ``sendSMS_to`` -> ``send SMS to``."""
    return _NAME.sub(_parts, text)


def _parts(name: re.Match[str]) -> str:
    return _INNER.sub(lambda inner: " " if inner[0][0] == "_" else f" {inner[0]}", name[0]).strip("_")


@cache
def _runs(n: int) -> tuple[re.Pattern[str], str]:
    """Return what makes words of 1 to ``n`` characters of scripts without spaces, and what to replace it by.

    A character is a letter with the marks on it. The pattern matches a character at a time, and has a group for each
    number of characters from there on, the single one last.
    """
    codes = (code for first, last in SPACELESS for code in range(first, last + 1))
    letters, marks = _class(code for code in codes if category(chr(code)) in ("Lo", "Lm", "Nl")), _marks()
    one = rf"[{letters}][{marks}]*"
    longer = "".join(rf"(?=((?:{one}){{{length}}})?)" for length in range(2, n + 1))
    groups = " ".join(rf"\g<{number}>" for number in (n, *range(1, n)))
    return re.compile(rf"(?<!_)_+(?=[{letters}])|(?<=[{letters}{marks}])_+|{longer}({one})"), f" {groups} "


@cache
def _marked_word() -> re.Pattern[str]:
    """Return what finds words with the marks on their letters, which the pattern of a word leaves out."""
    return re.compile(rf"(?:\w+[{_marks()}]*)+")


@cache
def _marks() -> str:
    return _class(code for code in range(0x300, 0x1F000) if category(chr(code)) in ("Mn", "Mc"))


def _class(codes: Iterable[int]) -> str:
    """Return increasing code points as ranges for a character class."""
    ranges: list[list[int]] = []
    for code in codes:
        if ranges and ranges[-1][1] == code - 1:
            ranges[-1][1] = code
        else:
            ranges.append([code, code])
    return "".join(f"{chr(first)}-{chr(last)}" for first, last in ranges)
