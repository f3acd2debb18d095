"""Writing a file under a temporary name first, so that no reader sees an incomplete file."""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a temporary path to write to, and rename it to ``path`` when the context ends without an error.

    Nobody can know its name before, and it is a new file: what is written goes through no link of somebody else's.
    """
    temporary = path.with_name(f".{path.name[:200]}.{secrets.token_hex(4)}.part")
    os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))  # less what the umask forbids
    try:
        yield temporary
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def final_name(name: str) -> str:
    """Return the name that a file is renamed to once it is complete; of a file that is no temporary one, its own."""
    temporary = re.fullmatch(r"\.(.+?)(\.[0-9a-f]{8})?\.part", name)
    return temporary[1] if temporary else name


def write_text(path: Path, text: str) -> None:
    """Write a text as UTF-8, atomically.

    Args:
        path: The file, which is replaced.
        text: What it holds.
    """
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
