"""What is known of users or items: a table with one row each, whose columns are numbers, classes, texts or times.

A column's kind is seen in its name and values, or set: ``number``, ``class``, ``classes`` (several, separated by ``|``
or as a list), ``text``, ``time`` and ``none``, which leaves it out.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from recx.core.entities import UNKNOWN_TIME, ClassLists
from recx.core.errors import InputError, did_you_mean
from recx.core.progress import say
from recx.core.ragged import indptr_of
from recx.core.types import Array, Floats, Longs
from recx.storage.readers.columns import convert, with_decimal_commas, with_thousands
from recx.storage.readers.names import ITEMS, TIMES, USERS, recognised
from recx.storage.readers.raw_columns import raw_columns, words_of
from recx.storage.readers.sources import Source
from recx.storage.readers.tables import columns_of
from recx.storage.readers.vectors import NUMBER, numbered_columns, stacked, vectors_of

Kind = Literal["number", "class", "classes", "text", "time", "none"]
KINDS: tuple[str, ...] = get_args(Kind)
CODES = (
    "id|category|categories|class|genres?|type|kind|brand|department|section|topic|subcategory|colou?r|gender|sex|"
    "occupation|job|group|cluster|code|zip|country|region|city|language|lang|label|publisher|author|artist|maker|os|"
    "device|status|level"
)
TEXTS = "titles?|names?|text|description|abstract|body|content|summary|headline|plot|overview|review|keywords"
FEW = 0.01
"""The largest share of values in a column of numbers that may be none."""
_BORN = rf"created|published|released?|launch(ed)?|upload(ed)?|listed|{TIMES}"
_TYPED = {"token": "class", "token_seq": "classes", "float": "number"}
_DATE = r"^(19|20)\d\d-\d{1,2}(-\d{1,2})?([ T].*)?$"


@dataclass(frozen=True, eq=False)
class Attributes:
    """A table of users or items.

    Attributes:
        ids: Their ids [n], in the order of the rows.
        numbers: Column -> float32 or float64 [n], NaN where it is missing.
        classes: Column -> int32 codes [n], -1 where it is missing.
        lists: Column -> the classes of each row.
        texts: Column -> text [n], "" where it is missing.
        times: Column -> int64 ms [n].
        embedding: Vectors [n, d], or None.
        notes: Counts of rows that were left out (``repeated_headers``).
    """

    ids: Array
    numbers: Mapping[str, Array]
    classes: Mapping[str, Array]
    lists: Mapping[str, ClassLists]
    texts: Mapping[str, Array]
    times: Mapping[str, Array]
    embedding: Floats | None = None
    notes: Mapping[str, int] = field(default_factory=dict)


def id_column(source: Source, wanted: str, whose: str, setting: str) -> str:
    """Return the column of ids: the one called like that of the events, or the only one whose name says so.

    Raises:
        InputError: It cannot be seen.
    """
    names = columns_of(source, [])
    if wanted in names:
        return wanted
    found = recognised(ITEMS if whose == "items" else USERS, names)
    found = [name for name in found if name.lower().rstrip(":token").endswith("id")] or found
    if len(found) == 1:
        return found[0]
    shown = f"could be {' or '.join(map(repr, found))}" if found else f"is none of {', '.join(names[:8])} by its name"
    raise InputError(f"{source.path}: the column of the {whose}' ids {shown}: set {setting} to it")


def read_attributes(source: Source, id_name: str, given: Mapping[str, str], setting: str) -> Attributes:
    """Return the table of a file.

    Args:
        source: The file.
        id_name: The column of ids.
        given: Column -> kind, where it is set; ``year`` stands for RecBole's ``year:token`` too.
        setting: The setting that says so, for errors.

    Raises:
        InputError: The file cannot be used, or a column is not of its kind.
    """
    names = columns_of(source, [id_name])
    plain = {name.partition(":")[0]: name for name in names}  # without the type that RecBole writes behind it
    given = {plain.get(name, name): kind for name, kind in given.items()}
    for name in given:
        if name not in names:
            raise InputError(f"{setting}={{{name}: …}}: {source.path} has no such column: {did_you_mean(name, names)}")
    vectors = numbered_columns([name for name in names if name not in given])
    notes: dict[str, int] = {}
    unread = {id_name, *(name for name, kind in given.items() if kind == "none")}
    columns = raw_columns(source, [id_name, *(name for name in names if name not in unread)], notes)
    where = f"{source.path}: column {{!r}}"
    ids = convert(columns.pop(id_name), "id", where.format(id_name))
    found: dict[str, dict[str, Any]] = {kind: {} for kind in KINDS}
    embedding = [convert(columns.pop(name), "number?", where.format(name)) for name in vectors]
    dense: Floats | None = np.stack(embedding, axis=1).astype(np.float32) if embedding else None
    for name, column in columns.items():
        vector = None if name in given else vectors_of(name, column, where.format(name))
        if vector is not None:
            dense = stacked(vector, dense, where.format(name))
            continue
        kind = given.get(name) or kind_of(name, column)
        if name not in given and kind in ("class", "text") and _with_unclear_commas(column):
            say(
                f"  {where.format(name)}: the comma of its numbers, such as 1,500, could separate thousands or "
                f"decimals, so that they are read as {kind}: write them without it to have numbers"
            )
        found[kind][name] = _READ[kind](column, where.format(name))
    return Attributes(
        ids,
        found["number"],
        found["class"],
        found["classes"],
        found["text"],
        found["time"],
        dense,
        notes,
    )


def kind_of(name: str, column: pa.ChunkedArray) -> str:
    """Return the kind of a column by its name, its type and its values."""
    plain, _, typed = name.partition(":")
    if typed in ("", "float") and is_birth(plain) and _counts_time(column):
        return "time"
    if typed in _TYPED:
        return "text" if typed == "token_seq" and recognised(TEXTS, [plain]) else _TYPED[typed]
    if pa.types.is_nested(column.type):
        return "classes"
    if pa.types.is_timestamp(column.type) or pa.types.is_date(column.type):
        return "time"
    if pa.types.is_boolean(column.type):
        return "class"
    words = words_of(column).drop_null()
    coded = bool(recognised(CODES, [plain])) or plain.lower().endswith("id")
    if not len(words):
        return "none"
    if _all(words, NUMBER) or (with_decimal_commas(words) and not with_thousands(words)):
        return "class" if coded else "number"
    if _all(words, _DATE):
        return "time"
    if pc.any(pc.match_substring(words, "|")).as_py():
        return "classes"
    if recognised(TEXTS, [plain]):
        return "text"
    return "class" if coded or len(words.unique()) <= max(20, len(words) // 10) else "text"


def _with_unclear_commas(column: pa.ChunkedArray) -> bool:
    """Return whether a column holds numbers each of whose commas could separate thousands or decimals."""
    words = words_of(column).drop_null()
    return bool(len(words) and with_decimal_commas(words) and with_thousands(words))


def is_birth(name: str) -> bool:
    """Return whether a column of times says when something came into being."""
    return bool(recognised(_BORN, [name]) or re.search("creat|publi|releas", name.lower()))


def _counts_time(column: pa.ChunkedArray) -> bool:
    """Return whether a column holds numbers that are dates, by their digits or in one of the units."""
    if pa.types.is_nested(column.type) or not _all(words_of(column).drop_null(), r"^\d{8,19}(\.\d*)?$"):
        return False
    with suppress(InputError):
        return bool((_times(column, "") < UNKNOWN_TIME).any())
    return False


def _all(words: pa.ChunkedArray, pattern: str) -> bool:
    return bool(pc.all(pc.match_substring_regex(words, pattern)).as_py())


def _numbers(column: pa.ChunkedArray, where: str) -> Array:
    """Return numbers; a few values that are none, such as unknown, count as missing, which is said."""
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        words = words_of(column)
        odd = np.asarray(pc.fill_null(pc.invert(pc.match_substring_regex(words, NUMBER)), False))
        if 0 < odd.sum() <= FEW * len(odd) and not with_decimal_commas(words.drop_null()):
            shown = words[int(np.argmax(odd))].as_py()
            say(f"  {where}: {int(odd.sum())} values are no numbers, such as {shown!r}, and count as missing")
            column = pc.if_else(pa.chunked_array([pa.array(odd)]), pa.scalar(None, pa.string()), words)
    return convert(column, "number?", where)


def _classes(column: pa.ChunkedArray, where: str) -> Array:
    coded = words_of(column).dictionary_encode().unify_dictionaries().combine_chunks()
    coded = coded.chunk(0) if isinstance(coded, pa.ChunkedArray) else coded
    order = np.argsort(np.asarray(coded.dictionary.to_pylist(), dtype=object))
    rank = np.empty(len(order) + 1, dtype=np.int32)
    rank[order], rank[-1] = np.arange(len(order)), -1
    codes: Array = rank[np.asarray(coded.indices.fill_null(-1))]
    return codes


def _lists(column: pa.ChunkedArray, where: str) -> ClassLists:
    if not pa.types.is_nested(column.type):
        words = words_of(column).fill_null("")
        mark = "|" if pc.any(pc.match_substring(words, "|")).as_py() else " "
        column = pc.utf8_split_whitespace(words) if mark == " " else pc.split_pattern(words, mark)
    if not (pa.types.is_list(column.type) or pa.types.is_large_list(column.type)):
        raise InputError(f"{where} holds values of type {column.type}: write lists of classes, or leave it out")
    lengths: Longs = np.asarray(pc.list_value_length(column).fill_null(0), dtype=np.int64)
    row = np.repeat(np.arange(len(lengths)), lengths)
    code = _classes(pc.list_flatten(column), where)
    pairs = np.unique(np.stack([row[code >= 0], code[code >= 0]]), axis=1)
    return ClassLists(indptr_of(np.bincount(pairs[0], minlength=len(lengths))), pairs[1].astype(np.int32))


def _texts(column: pa.ChunkedArray, where: str) -> Array:
    if pa.types.is_nested(column.type):
        raise InputError(f"{where} holds values of type {column.type}, not texts: leave it out, or write texts")
    texts: Array = np.asarray(words_of(column).fill_null("").to_pylist(), dtype=object)
    return texts


def _times(column: pa.ChunkedArray, where: str) -> Array:
    with suppress(InputError):
        return convert(column, "iso?", where)
    for unit in ("s", "ms", "us", "ns"):
        with suppress(InputError):
            return convert(column, f"{unit}?", where)
    return convert(column, "iso?", where)


def _nothing(column: pa.ChunkedArray, where: str) -> None:
    return None


_READ = {
    "number": _numbers,
    "class": _classes,
    "classes": _lists,
    "text": _texts,
    "time": _times,
    "none": _nothing,
}
