"""Passwords and keys in settings: whatever recx writes, prints or logs shows ``***`` in their place.

They are recognised by their place: in an address (``http://user:password@host``, ``?token=…``), or in a setting that is
named like one (``api_key``). What stands in an environment variable that a setting names is not in the setting.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

HIDDEN = "***"
_NAME = r"(?:[\w-]*[_-])?(?:password|passwd|pwd|secret|token|api_?key|access_?key(?:_?id)?|credentials?|signature|sig)"
_SETTING = re.compile(rf"(?:.*\.)?{_NAME}", re.IGNORECASE)
_TYPED = re.compile(r"(?P<before>[+~]*[\w@./-]+=['\"]?)(?P<secret>[^'\"]+)(?P<after>['\"]?)")
_KEPT = r"(?!\*\*\*|\$\{)"
_PLACES = (
    # The port of an address without a user is no password.
    re.compile(rf"(?P<before>:/{{1,2}}[^\s/?#@:]*:){_KEPT}(?!\d{{1,5}}(?:[/?#\s'\"]|$))(?P<secret>[^\s]+)(?P<after>@)"),
    re.compile(rf"(?P<before>https?://){_KEPT}(?P<secret>[^\s/?#@:]{{20,}})(?P<after>@)"),  # a token instead of a user
    re.compile(rf"(?P<before>[?&;]{_NAME}=){_KEPT}(?P<secret>[^&;\s'\"]+)(?P<after>)", re.IGNORECASE),
)


def hidden(text: str) -> str:
    """Return a text with the passwords and keys of its addresses hidden."""
    return replaced(text, lambda secret: HIDDEN)


def replaced(text: str, by: Callable[[str], str]) -> str:
    """Return a text with something else in place of each password or key in its addresses."""
    if ":/" not in text and "=" not in text:
        return text
    for place in _PLACES:
        text = place.sub(lambda found: f"{found['before']}{by(found['secret'])}{found['after']}", text)
    return text


def is_secret(key: str) -> bool:
    """Return whether a setting is named like a password or key."""
    return _SETTING.fullmatch(key) is not None


def hidden_in(value: Any, key: str = "") -> Any:
    """Return plain settings with passwords and keys hidden."""
    if isinstance(value, Mapping):
        return {name: hidden_in(inner, str(name)) for name, inner in value.items()}
    if isinstance(value, list):
        return [hidden_in(inner, key) for inner in value]
    if not isinstance(value, str):
        return value
    return HIDDEN if value and is_secret(key) else hidden(value)


def hidden_override(override: str) -> str:
    """Return an override of the command line with passwords and keys hidden."""
    return override_replaced(override, lambda secret: HIDDEN)


def override_replaced(override: str, by: Callable[[str], str]) -> str:
    """Return an override with something else in place of each password or key."""
    key = override.lstrip("+~").partition("=")[0]
    typed = _TYPED.fullmatch(override) if is_secret(key) else None
    if typed is None or typed["secret"].startswith("${"):
        return replaced(override, by)
    return f"{typed['before']}{by(typed['secret'])}{typed['after']}"
