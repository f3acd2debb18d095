"""Files of judged rows, a grade and numbered features each: SVMlight as LETOR, MSLR and LightGBM write it.

A line is ``grade qid:QUERY 1:0.5 7:1 #docid = GX000``, the query and the comment where there are any. Without ``qid:``
the file of group sizes beside it (``rank.train.query``, LightGBM's) says how many rows each query has.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from recx.core.errors import InputError
from recx.core.ragged import indptr_of
from recx.core.types import Floats, Longs
from recx.parts.dataset.svmlight_lines import Lines, Rows
from recx.storage.readers.tables import content, is_folder

BLOCK = 1 << 24  # bytes that are parsed at once
MOST_FEATURES = 20_000  # every row gets a number for each
ENDINGS = {"train": ("train",), "valid": ("vali", "valid"), "test": ("test",)}
"""Part -> what a file's name ends with, but for .gz and .txt and the like."""

_DOCUMENT = re.compile(rb"#[ \t]*docid[ \t]*=[ \t]*(\S+)")


def parts_of(path: Path) -> dict[str, Path]:
    """Return the files of a folder by part (train, valid, test), or the one file as the part "".

    Raises:
        InputError: there is neither such a folder nor file, a part has two files, or train or test has none.
    """
    if not is_folder(path):
        return {"": path}
    found: dict[str, Path] = {}
    for file in sorted(path.iterdir()):
        stem = re.sub(r"(\.(txt|svm|svmlight|libsvm|dat))?(\.gz)?$", "", file.name)
        for part, endings in ENDINGS.items():
            if stem.lower().split(".")[-1] in endings:
                if part in found:
                    raise InputError(f"{path} has two files of the part {part}, {found[part].name} and {file.name}: "
                                     "take one out, or name a single file")  # fmt: skip
                found[part] = file
    for part in ("train", "test"):
        if part not in found:
            raise InputError(
                f"{path} has no file {part}.txt: a folder needs train.txt and test.txt (vali.txt may be there too), "
                "plain or .gz; or name a single file, whose queries are then split"
            )
    return {part: found[part] for part in ENDINGS if part in found}


def read_rows(path: Path) -> Rows:
    """Return the rows of a file, plain or gzipped.

    Raises:
        InputError: the file cannot be read, a line is no row, a number is not finite, or nothing tells the queries
            apart.
    """
    data = bytes(content(path)).removeprefix(b"\xef\xbb\xbf")
    blocks = [Lines(path, before, text) for before, text in _blocks(data)]
    has_query = any(block.has_query for block in blocks)
    whole = Rows.joined([block.rows(has_query) for block in blocks])
    if not len(whole.grade):
        raise InputError(f"{path} has comments but no rows: give lines such as '2 qid:1 1:0.5 2:0.1'")
    if not has_query:
        whole = replace(whole, query=_grouped(path, len(whole.grade)))
    documents = _DOCUMENT.findall(data) if b"docid" in data else []
    if len(documents) == len(whole.grade):
        names = [document.decode("utf-8", "replace") for document in documents]
        whole = replace(whole, document=np.array(names, dtype=object))
    return whole


def columns_of(rows: Sequence[Rows]) -> Mapping[str, Floats]:
    """Return the features of the rows of all files, one behind the other: name (the number written) -> [n].

    A feature that a row does not write down is 0.

    Raises:
        InputError: there are too many features.
    """
    starts = indptr_of(np.array([len(part.grade) for part in rows]))
    index, place = np.unique(np.concatenate([part.index for part in rows]), return_inverse=True)
    if len(index) > MOST_FEATURES:
        raise InputError(
            f"dataset.path: the files have {len(index):,} features, and at most {MOST_FEATURES:,} can be held for "
            "every row: leave out those that say little"
        )
    row = np.concatenate([part.row + start for part, start in zip(rows, starts, strict=False)])
    table = np.zeros((len(index), int(starts[-1])), dtype=np.float32)
    table[place, row] = np.concatenate([part.value for part in rows])
    return dict(zip(map(str, index.tolist()), table, strict=True))


def _blocks(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield the number of lines before each block of whole lines, and the block."""
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
    """Return each row's query, by the file of group sizes beside it."""
    name = path.name.removesuffix(".gz")
    beside = [path.with_name(f"{name}{ending}{packed}") for ending in (".query", ".group") for packed in ("", ".gz")]
    file = next((one for one in beside if one.exists() or one.is_symlink()), None)
    if file is None:
        raise InputError(
            f"{path} says nowhere which rows belong to one query: write qid:QUERY behind each grade, or the queries' "
            f"numbers of rows into {name}.query, one a line"
        )
    words = bytes(content(file)).removeprefix(b"\xef\xbb\xbf").split()
    for place, word in enumerate(words, start=1):
        if not word.isdigit() or len(word) > 15 or int(word) < 1:
            raise InputError(
                f"{file}, entry {place}: {word[:80].decode('utf-8', 'replace')!r} is no number of rows: correct it"
            )
    sizes = np.array(words).astype(np.int64)
    if sizes.sum() != n_rows:
        raise InputError(
            f"{file}: its groups add up to {sizes.sum():,} rows and {path.name} has {n_rows:,}: write one of them again"
        )
    return np.repeat(np.arange(1, len(sizes) + 1), sizes)
