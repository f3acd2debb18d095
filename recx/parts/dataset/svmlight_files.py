"""Files of judged rows with a grade and numbered features: SVMlight as LETOR, MSLR and LightGBM write it.

A line is ``grade qid:QUERY 1:0.5 7:1 #docid = GX000``; query and comment are optional. Without ``qid:``, the file of
group sizes next to it (``rank.train.query``, LightGBM's) gives the number of rows of each query.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from recx.core.errors import InputError
from recx.core.precision import Reals, narrowed
from recx.core.ragged import indptr_of
from recx.core.types import Longs
from recx.parts.dataset.events import text_array
from recx.parts.dataset.files import file_in
from recx.parts.dataset.svmlight_lines import Lines, Rows
from recx.storage.readers.content import content, is_folder

BLOCK = 1 << 24  # bytes parsed at once
MOST_FEATURES = 20_000  # the table of features is dense
ENDINGS = {"train": ("train",), "valid": ("vali", "valid"), "test": ("test",)}
"""Part -> how a file's name ends, before .txt, .gz and similar endings."""
READS = tuple(
    f"{start}{name}{end}" for names in ENDINGS.values() for name in names for start in ("", "*.") for end in ("", ".*")
)
"""Patterns of the names of all files of a folder that are read, those of group sizes included."""

_DOCUMENT = re.compile(rb"#[ \t]*docid[ \t]*=[ \t]*(\S+)")


def parts_of(path: Path, others: Mapping[str, Path]) -> dict[str, Path]:
    """Return the files by part (train, valid, test), or the one file as the part "".

    Args:
        path: a folder, whose files are told by their names, or a file: that of train where others are named.
        others: the files of valid and test that are named.

    Raises:
        InputError: there is no such folder or file, a part has two files, or train or test has none.
    """
    if others:
        if is_folder(path):
            named = next(iter(others))
            raise InputError(
                f"dataset.{named} names a file, and dataset.path={path} is a folder, whose files are told by their "
                "names: name the file of train, or leave out the others"
            )
        if "test" not in others:
            raise InputError("dataset.valid names a file, and dataset.test none: name the file of test as well")
        return {"train": path, **others}
    if not is_folder(path):
        return {"": path}
    found: dict[str, Path] = {}
    for file in sorted(path.iterdir()):
        ending = re.sub(r"(\.(txt|svm|svmlight|libsvm|dat))?(\.gz)?$", "", file.name).lower().split(".")[-1]
        part = next((part for part, endings in ENDINGS.items() if ending in endings), None)
        if part in found:
            raise InputError(
                f"{path} has two files of the part {part}, {found[part].name} and {file.name}: remove one of them, or "
                "name a single file"
            )
        if part is not None:
            found[part] = file
    for part in ("train", "test"):
        if part not in found:
            raise InputError(
                f"{path} has no file {part}.txt: a folder needs train.txt and test.txt (and optionally vali.txt), "
                "plain or .gz; or name the files (dataset.path=TRAIN dataset.test=TEST), or a single one, whose "
                "queries are then split"
            )
    return {part: found[part] for part in ENDINGS if part in found}


def read_rows(path: Path) -> Rows:
    """Return the rows of a file, plain or gzipped.

    Raises:
        InputError: the file cannot be read, a line is not valid, a number is not finite, or the rows have no queries.
    """
    data = bytes(content(path)).removeprefix(b"\xef\xbb\xbf")
    blocks = [Lines(path, before, text) for before, text in _blocks(data)]
    has_query = any(block.has_query for block in blocks)
    rows = Rows.joined([block.rows(has_query) for block in blocks])
    if not len(rows.grade):
        raise InputError(f"{path} has comments but no rows: provide lines such as '2 qid:1 1:0.5 2:0.1'")
    if not has_query:
        rows = replace(rows, query=_grouped(path, len(rows.grade)))
    documents = _DOCUMENT.findall(data) if b"docid" in data else []
    if len(documents) == len(rows.grade):
        rows = replace(rows, document=text_array(document.decode("utf-8", "replace") for document in documents))
    return rows


def columns_of(parts: Sequence[Rows]) -> Mapping[str, Reals]:
    """Return the features of the rows of all files, one file after the other.

    Returns:
        Name (the number in the files) -> its values [n], float32 where that keeps distinct values distinct; a feature
        that a row does not list is 0.

    Raises:
        InputError: there are too many features.
    """
    starts = indptr_of(np.array([len(part.grade) for part in parts]))
    index, place = np.unique(np.concatenate([part.index for part in parts]), return_inverse=True)
    if len(index) > MOST_FEATURES:
        raise InputError(
            f"dataset.path: the files have {len(index):,} features, but at most {MOST_FEATURES:,} are supported: leave "
            "out the least informative ones"
        )
    row = np.concatenate([part.row + start for part, start in zip(parts, starts, strict=False)])
    table = np.zeros((len(index), int(starts[-1])))
    table[place, row] = np.concatenate([part.value for part in parts])
    return {str(number): np.array(narrowed(column)) for number, column in zip(index.tolist(), table, strict=True)}


def _blocks(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield blocks of whole lines, each with the number of lines before it."""
    start, before = 0, 0
    while start < len(data):
        stop = data.rfind(b"\n", start, start + BLOCK) + 1
        if stop == 0:  # a line longer than a block
            stop = data.find(b"\n", start) + 1 or len(data)
        if start + BLOCK >= len(data):
            stop = len(data)
        yield before, data[start:stop]
        before += data.count(b"\n", start, stop)
        start = stop


def _grouped(path: Path, n_rows: int) -> Longs:
    """Return each row's query, from the file of group sizes next to it."""
    name = path.name.removesuffix(".gz")
    found = (file_in(path.parent, f"{name}{ending}") for ending in (".query", ".group"))
    file = next((file for file in found if file is not None), None)
    if file is None:
        raise InputError(
            f"{path} does not say which rows belong to one query: write qid:QUERY after each grade, or the queries' "
            f"numbers of rows into {name}.query, one per line"
        )
    words = bytes(content(file)).removeprefix(b"\xef\xbb\xbf").split()
    for place, word in enumerate(words, start=1):
        if not word.isdigit() or len(word) > 15 or int(word) < 1:
            text = word[:80].decode("utf-8", "replace")
            raise InputError(f"{file}, entry {place}: {text!r} is not a number of rows: correct it")
    sizes = np.array(words).astype(np.int64)
    if sizes.sum() != n_rows:
        raise InputError(
            f"{file}: its groups add up to {sizes.sum():,} rows and {path.name} has {n_rows:,}: write one of them again"
        )
    return np.repeat(np.arange(1, len(sizes) + 1), sizes)
