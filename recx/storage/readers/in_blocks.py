"""Reads columns of a plain text a block at a time: what is a number is one before the next block is read.

So neither the text nor its columns as texts are ever held whole. A text is plain if it has no quotation mark, each row
has as many columns as the header, none repeats it, and the first rows show what a column holds. Any other is read
whole, which is when errors are raised.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa

from recx.core.clock import NANOSECONDS
from recx.core.precision import WHOLE
from recx.core.room import OF_PLAIN_TEXT, say_if_short_of_memory
from recx.core.system.threads import ahead
from recx.core.types import Array
from recx.storage.readers.arrays import GrowingArray, array_of
from recx.storage.readers.columns import LARGEST_ID, MISSING
from recx.storage.readers.delimited import Delimited
from recx.storage.readers.file_bytes import let_go
from recx.storage.readers.headers import are_words
from recx.storage.readers.numerals import LARGEST, numbers, whole_numbers

BLOCK = 1 << 21
"""Bytes of a block, but for a row that is longer."""
ROOM = 1.1
"""Times the rows that the first block lets expect, for which there is room."""
Way = Callable[[pa.ChunkedArray], Any]
"""From texts to an array of numbers or a column of texts; None: they are something else."""


def in_blocks(text: Delimited, kinds: Mapping[str, str]) -> dict[str, pa.ChunkedArray] | None:
    """Return columns as texts or, where all of them are such and the kind asks for it, as numbers.

    Numbers have 32 bits where these hold all of them. Ids that are not all whole numbers are dictionaries of texts.

    Args:
        text: The text.
        kinds: Column -> kind (see ``recx.storage.readers.columns``).

    Returns:
        Name -> column; None: the text is not plain.
    """
    names, rows = list(kinds), text.rows
    blocks = _blocks(rows, BLOCK)
    first = next(blocks, None)
    if text.marked or first is None or (words := _words(text, first, names)) is None:
        return None
    ways = {name: _way(kind, words[name]) for name, kind in kinds.items()}
    if text.given is None and not (are_words(text.names) and {_whole, _ids} & set(ways.values())):
        return None  # a row may repeat the header
    say_if_short_of_memory(f"reading {text.path.name}", len(text.data) * OF_PLAIN_TEXT)

    def converted(words: dict[str, pa.ChunkedArray]) -> dict[str, Any]:
        return {name: ways[name](words.pop(name)) for name in names}

    def read(block: memoryview) -> dict[str, Any] | None:
        words = _words(text, block, names)
        let_go(block)
        return None if words is None else converted(words)

    room = int(ROOM * len(words[names[0]]) * len(rows) / len(first))
    found: dict[str, GrowingArray | list[pa.Array]] = {}
    for parts in chain([converted(words)], ahead(read, blocks)):
        for name in names:
            part = None if parts is None else parts[name]
            if part is None:
                return None
            if name not in found:
                found[name] = GrowingArray(part.dtype, room) if isinstance(part, np.ndarray) else []
            found[name].extend(part if isinstance(part, np.ndarray) else part.chunks)
    pa.default_memory_pool().release_unused()
    return {
        name: pa.chunked_array([pa.array(one.values)] if isinstance(one, GrowingArray) else one)
        for name, one in found.items()
    }


def _blocks(rows: memoryview, size: int) -> Iterator[memoryview]:
    """Yield rows, a block at a time."""
    start, stop = 0, size
    while start < len(rows):
        block = bytes(rows[start:stop])
        end = len(block) if stop >= len(rows) else max(block.rfind(b"\n"), block.rfind(b"\r")) + 1
        blank = block.isspace()
        del block  # before another one is read
        if end and not blank:
            yield rows[start : start + end]
        start, stop = start + end, start + end + size if end else stop + size


def _words(text: Delimited, block: memoryview, names: list[str]) -> dict[str, pa.ChunkedArray] | None:
    """Return columns as texts; None: the rows are not such as those of a plain text."""
    if b"\0" in bytes(block):
        return None
    try:
        table = text.block(block, names, MISSING)
    except pa.ArrowInvalid:
        return None
    return dict(zip(names, table.columns, strict=True))


def _way(kind: str, words: pa.ChunkedArray) -> Way:
    """Return the way for a kind by which the first texts are what they should be."""
    word = kind.removesuffix("?").split()[-1]
    if word == "id":
        return _ids if _ids(words) is not None else _coded
    exact = _whole if word in ("whole", *NANOSECONDS) else _numbers if word in ("number", "double") else _texts
    return exact if exact(words) is not None else _texts


def _ids(words: pa.ChunkedArray) -> Array | None:
    return _whole(words, LARGEST_ID)


def _whole(words: pa.ChunkedArray, most: int = LARGEST) -> Array | None:
    """Return whole numbers, none missing."""
    found = None if words.null_count else whole_numbers(words, most)
    if found is None:
        return None
    values = array_of(found, pa.int64())
    narrow = values.astype(np.int32)
    return narrow if (narrow == values).all() else values


def _numbers(words: pa.ChunkedArray) -> Array | None:
    """Return numbers, none missing, that float64 tells from their neighbours."""
    found = None if words.null_count else numbers(words)
    if found is None:
        return None
    values = array_of(found, pa.float64())
    if not (np.abs(values) < WHOLE).all():  # as no NaN is
        return None
    narrow = values.astype(np.float32)
    return narrow if (narrow == values).all() else values


def _coded(words: pa.ChunkedArray) -> pa.ChunkedArray | None:
    """Return texts, none missing, as a dictionary of them."""
    return None if words.null_count else words.dictionary_encode()


def _texts(words: pa.ChunkedArray) -> pa.ChunkedArray:
    return words
