"""Writing a file under a temporary name until it is whole, so that nobody reads half of it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Give a temporary name to write to, and put the file in its place once it is whole."""
    temporary = path.with_name(f".{path.name}.part")
    try:
        yield temporary
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Write a text as UTF-8."""
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
