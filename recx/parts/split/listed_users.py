"""A file with the ids of users, one a line."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from recx.core.errors import InputError
from recx.core.types import Array, Bools
from recx.storage.readers.names import USERS, recognised


def users_in(file: Path, ids: Array) -> tuple[Bools, int]:
    """Return which users of the data a file names [n_users], and how many distinct ids the data does not know.

    The file is text, plain or packed; blank lines and a first line that is the name of a column, such as ``user_id``,
    are not ids.

    Args:
        file: The file.
        ids: The ids of the users of the data [n_users].

    Raises:
        InputError: The file cannot be read, holds no id, or more than one value on a line.
    """
    from recx.storage.readers.content import content
    from recx.storage.readers.text_bytes import refuse_nul

    try:
        path = file.expanduser()
        data = content(path)
    except (InputError, RuntimeError) as error:
        raise InputError(f"split.users={file}: {error}") from error
    refuse_nul(path, data)
    try:
        lines = [line.strip() for line in re.split(r"\r\n|\r|\n", bytes(data).decode("utf-8-sig"))]
    except UnicodeDecodeError as error:
        raise InputError(f"split.users={path}: it is not text in UTF-8: write one id of a user a line") from error
    named = [line for line in lines if line]
    known = {str(one): number for number, one in enumerate(ids.tolist())}
    if named and named[0] not in known and recognised(USERS, named[:1]):
        named = named[1:]
    if not named:
        raise InputError(f"split.users={path}: it names no user: write one id a line")
    found = np.zeros(len(ids), dtype=bool)
    numbers = [known.get(line, -1) for line in dict.fromkeys(named)]
    unknown = [line for line in dict.fromkeys(named) if line not in known]
    torn = next((line for line in unknown if re.search(r"[,;\t|]", line)), None)
    if torn is not None:
        number = lines.index(torn) + 1
        raise InputError(f"split.users={path}, line {number}: {torn[:60]!r} is more than an id: write one id a line")
    found[[number for number in numbers if number >= 0]] = True
    return found, len(unknown)
