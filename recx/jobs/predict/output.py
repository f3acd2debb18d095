"""The table of a prediction as a file: Parquet, CSV or JSON lines, written block by block."""

from __future__ import annotations

import gzip
import json
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from recx.core.errors import InputError
from recx.core.system.atomic import replacing
from recx.core.types import Array

if TYPE_CHECKING:
    import pyarrow as pa

COLUMNS = ("user", "rank", "item", "score", "known")
SUFFIXES = (".parquet", ".csv", ".csv.gz", ".jsonl", ".jsonl.gz")
Write = Callable[["pa.Table"], None]
"""Appends a block of rows."""


def check_output(path: Path, *, force: bool = False) -> None:
    """Check that a table can be written to a path, before any work.

    Args:
        path: The path.
        force: Whether it may replace a file that is no table of predictions.

    Raises:
        InputError: It has another suffix, its folder does not exist or cannot be written to, or another file would be
            lost.
    """
    form_of(path)
    folder = path.parent
    if not folder.is_dir():
        raise InputError(f"--output {path}: there is no folder {folder}: make it first, or correct the path")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise InputError(f"--output {path}: nothing can be written in {folder}: correct its permissions")
    try:
        state = path.lstat()
    except FileNotFoundError:
        return
    if not stat.S_ISREG(state.st_mode):
        raise InputError(f"--output {path}: it exists already and is no plain file: choose another name")
    if state.st_size and not force and not is_ours(path):
        raise InputError(
            f"--output {path}: it exists already and is no table of predictions: choose another name, or replace it "
            "with --force"
        )


def form_of(path: Path) -> str:
    """Return which of ``SUFFIXES`` a file has.

    Raises:
        InputError: It has none of them.
    """
    found = [suffix for suffix in SUFFIXES if path.name.lower().endswith(suffix) and path.name.lower() != suffix]
    if not found:
        raise InputError(f"--output {path}: its name must end in {', '.join(SUFFIXES[:-1])} or {SUFFIXES[-1]}")
    return found[0]


def is_ours(path: Path) -> bool:
    """Return whether a file is a table of predictions: one with exactly these columns."""
    import pyarrow.parquet as pq

    form = form_of(path)
    with suppress(Exception):  # a file of any content may raise anything
        if form == ".parquet":
            return tuple(pq.read_schema(path).names) == COLUMNS
        with gzip.open(path) if form.endswith(".gz") else path.open("rb") as file:
            line = file.readline(1 << 16).decode()
        if form.startswith(".jsonl"):
            return not line or tuple(json.loads(line)) == COLUMNS
        return tuple(name.strip('"') for name in line.strip().split(",")) == COLUMNS
    return False


@contextmanager
def writing(path: Path, user: Array, item: Array) -> Iterator[Write]:
    """Yield a function that appends blocks of rows to a file, which gets its name once it is complete.

    Args:
        path: The file, whose name says what it is.
        user: Some raw ids of users, which all are of one type.
        item: Some raw ids of items.

    Raises:
        OSError: The disk is full, or something else is wrong with it.
    """
    form, schema = form_of(path), schema_of(user, item)
    with _told_of(path), replacing(path) as temporary, ExitStack() as stack:
        if form == ".parquet":
            import pyarrow.parquet as pq

            writer = stack.enter_context(pq.ParquetWriter(temporary, schema, store_schema=False))
            yield lambda block: writer.write_table(block.cast(schema))
            return
        file: Any = stack.enter_context(temporary.open("wb"))
        if form.endswith(".gz"):  # without the time, so that equal tables are equal files
            file = stack.enter_context(gzip.GzipFile("", "wb", 6, file, mtime=0))
        if form.startswith(".csv"):
            file.write(",".join(COLUMNS).encode() + b"\n")
            yield partial(_append_csv, file)
        else:
            yield partial(_append_lines, file)


@contextmanager
def _told_of(path: Path) -> Iterator[None]:
    """Let an error of the disk, such as one that is full, name the file."""
    try:
        yield
    except OSError as error:
        error.filename = error.filename or str(path)
        raise


def schema_of(user: Array, item: Array) -> pa.Schema:
    """Return the columns of a table with such ids, and their types."""
    import pyarrow as pa

    ids = [pa.int64() if one.dtype.kind in "iu" else pa.string() for one in (user, item)]
    kinds = (ids[0], pa.int64(), ids[1], pa.float64(), pa.bool_())
    return pa.schema(list(zip(COLUMNS, kinds, strict=True)))


def _append_csv(file: IO[bytes], block: pa.Table) -> None:
    import pyarrow as pa
    import pyarrow.csv as pacsv

    text = pa.BufferOutputStream()
    pacsv.write_csv(block, text, pacsv.WriteOptions(include_header=False))
    file.write(text.getvalue())


def _append_lines(file: IO[bytes], block: pa.Table) -> None:
    """Append one JSON object per row."""
    import pyarrow as pa
    import pyarrow.compute as pc

    parts: list[Any] = []
    for place, name in enumerate(COLUMNS):
        parts += [f"{', ' if place else '{'}{json.dumps(name)}: ", _as_json(block[name])]
    lines = pc.binary_join_element_wise(*parts, "}\n", "")
    file.write("".join(pa.chunked_array(lines).to_pylist()).encode())


def _as_json(column: pa.ChunkedArray) -> pa.Array:
    """Return values as the texts that mean them in JSON [n]."""
    import pyarrow as pa

    if not pa.types.is_string(column.type):
        return column.cast(pa.string()).combine_chunks()  # the shortest text that means the number; true, false
    coded = column.combine_chunks().dictionary_encode()
    texts = [json.dumps(text, ensure_ascii=False) for text in coded.dictionary.to_pylist()]
    return pa.array(texts, pa.string()).take(coded.indices)
