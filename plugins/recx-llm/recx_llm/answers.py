"""Answers, kept by the content of what was asked: one plain file each, so that a run that was stopped goes on."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from recx.plugin import InputError, check_plain, write_text

FORMAT = 1
LARGEST = 1 << 24
"""Bytes of a file with an answer."""


@dataclass(frozen=True)
class Answer:
    """What a model answered.

    Attributes:
        text: The answer.
        input_tokens: Tokens of the prompt, as the endpoint counted them; None: it did not say.
        output_tokens: Tokens of the answer.
        whole: Whether the model came to its end; else ``max_tokens`` cut it.
    """

    text: str
    input_tokens: int | None = None
    output_tokens: int | None = None
    whole: bool = True

    @property
    def readable(self) -> str:
        """The text; "" for one that was cut, which could say something else."""
        return self.text if self.whole else ""


@dataclass(frozen=True)
class Answers:
    """A folder of answers, which several processes may write to at once.

    Attributes:
        folder: The folder; None: nothing is kept.
    """

    folder: Path | None

    def find(self, key: str) -> Answer | None:
        """Return an answer; None if it is not there, damaged, or no plain file of this user."""
        if self.folder is None:
            return None
        path = self._path(self.folder, key)
        try:
            check_plain(path, LARGEST, own=True)
            found = json.loads(path.read_text(encoding="utf-8"))
            answer = Answer(**found)
        except (OSError, ValueError, TypeError, InputError):
            return None
        tokens = (answer.input_tokens, answer.output_tokens)
        valid = (
            isinstance(answer.text, str)
            and type(answer.whole) is bool
            and all(one is None or type(one) is int for one in tokens)
        )
        return answer if valid else None

    def keep(self, key: str, answer: Answer) -> None:
        """Keep an answer."""
        if self.folder is not None:
            path = self._path(self.folder, key)
            path.parent.mkdir(parents=True, exist_ok=True)
            write_text(path, json.dumps(asdict(answer), ensure_ascii=False))

    @staticmethod
    def _path(folder: Path, key: str) -> Path:
        return folder / key[:2] / f"{key}.json"


def key_of(url: str, body: Mapping[str, Any]) -> str:
    """Return the key of an answer: of the endpoint, without user and password, and of all that it is sent."""
    parts = urlsplit(url)
    content = [FORMAT, parts.scheme, parts.hostname, parts.port, parts.path, body]
    text = json.dumps(content, sort_keys=True, ensure_ascii=False, default=str)
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
