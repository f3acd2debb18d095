"""What a reader of a page sees."""

from __future__ import annotations

import re
from html import unescape


def visible_text(page: str) -> str:
    """Return the text of an HTML page without styles, scripts and tags."""
    return unescape(re.sub(r"<[^>]*>", " ", re.sub(r"<(style|script)\b.*?</\1>", " ", page, flags=re.DOTALL)))
