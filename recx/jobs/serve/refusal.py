"""Answers that say in one sentence why a request is refused: ``{"error": "…"}``."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from starlette.exceptions import HTTPException
from starlette.responses import Response

from recx.core.system.screen import one_line

LONGEST = 1_000
"""Longer sentences are cut: they may quote what the client sent."""


class Refused(HTTPException):
    """A request cannot be answered, for a reason that its sender is told.

    Attributes:
        status_code: The status of the answer.
        detail: The sentence.
        headers: Further headers of the answer.
    """


class Json(Response):
    """An answer in JSON; lone surrogates, which ids from files may hold, are written as escapes."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        """Return the bytes of the answer."""
        return encoded(content)


def encoded(content: Any) -> bytes:
    """Return plain values as JSON in UTF-8."""
    text = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.encode("utf-8", "backslashreplace")


def refusal(status: int, sentence: str, headers: Mapping[str, str] | None = None) -> Json:
    """Return the answer of a status with a sentence."""
    sentence = one_line(sentence)
    sentence = sentence if len(sentence) <= LONGEST else f"{sentence[: LONGEST - 1]}…"
    return Json({"error": sentence}, status, headers)
