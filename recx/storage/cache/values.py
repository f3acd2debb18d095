"""Results of stages as files: ``.npy`` for numbers, ``.parquet`` for texts, and one JSON file for the structure.

Numbers are read memory-mapped (a private copy of each page that is written to), with the same type, order and values.
An object that occurs several times is read as one object.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from recx.core.entities import ClassLists, Entities
from recx.core.evaluation import Evaluation
from recx.core.fit_summary import FitSummary
from recx.core.graphs import Graphs
from recx.core.system.plain_files import MIB, check_plain, read_text
from recx.core.types import Array, Fold, Interactions, RankedLists, Requests

VALUE = "value.json"
MAPPED = 1 << 16  # size in bytes above which an array is mapped rather than read
LARGEST = 512 * MIB  # of the structure, which holds plain numbers and texts too
_ARRAY = re.compile(r"\d+\.(npy|[A-Z]\.parquet)", re.ASCII)

_TYPES: dict[str, Any] = {
    kind.__name__: kind
    for kind in (ClassLists, Entities, Evaluation, FitSummary, Fold, Graphs, Interactions, RankedLists, Requests)
}

T = TypeVar("T", bound=type)


def storable(kind: T) -> T:
    """Allow instances of a dataclass to be written: a decorator for types above this layer."""
    _TYPES[kind.__name__] = kind
    return kind


class NotStorableError(TypeError):
    """A value contains something that cannot be stored."""


def write(value: Any, folder: Path) -> None:
    """Write a value into a folder.

    Raises:
        NotStorableError: It contains more than plain values, arrays and types that pass between parts.
    """
    (folder / VALUE).write_text(json.dumps(_Writer(folder).encoded(value)), encoding="utf-8")


def read(folder: Path) -> Any:
    """Return the value that ``write`` wrote into a folder."""
    return _Reader(folder).value(json.loads(read_text(folder / VALUE, LARGEST, own=True)))


@dataclass(frozen=True)
class _Writer:
    folder: Path
    numbers: dict[int, int] = field(default_factory=dict)
    alive: list[Any] = field(default_factory=list)  # so that no other object reuses an id in ``numbers``

    def encoded(self, value: Any) -> Any:
        """Return the JSON of a value, after writing the arrays in it."""
        if value is None or isinstance(value, bool | int | float | str):
            return value
        if isinstance(value, np.generic):
            return self.encoded(value.item())
        if isinstance(value, Mapping):
            if not all(isinstance(name, str) for name in value):
                raise NotStorableError("a mapping with keys other than texts")
            return {"mapping": [[name, self.encoded(inner)] for name, inner in value.items()]}
        if isinstance(value, list | tuple):
            return {type(value).__name__: [self.encoded(inner) for inner in value]}
        if id(value) in self.numbers:
            return {"same": self.numbers[id(value)]}
        place = self.numbers[id(value)] = len(self.numbers)
        self.alive.append(value)
        if isinstance(value, np.ndarray):
            return {"array": _write_array(value, self.folder, place), "place": place}
        if type(value) is not _TYPES.get(type(value).__name__):
            raise NotStorableError(f"a {type(value).__name__}")
        inner = {one.name: self.encoded(getattr(value, one.name)) for one in fields(value)}
        return {"type": type(value).__name__, "fields": inner, "place": place}


@dataclass(frozen=True)
class _Reader:
    folder: Path
    made: dict[int, Any] = field(default_factory=dict)

    def value(self, data: Any) -> Any:
        if not isinstance(data, dict):
            return data
        if "mapping" in data:
            return {name: self.value(inner) for name, inner in data["mapping"]}
        if "list" in data:
            return [self.value(inner) for inner in data["list"]]
        if "tuple" in data:
            return tuple(self.value(inner) for inner in data["tuple"])
        if "same" in data:
            return self.made[data["same"]]
        if "array" in data:
            if not _ARRAY.fullmatch(data["array"]):
                raise ValueError(f"{data['array']} is not the name of an array")
            value = read_array(self.folder / data["array"])
        else:
            value = _TYPES[data["type"]](**{name: self.value(inner) for name, inner in data["fields"].items()})
        self.made[data["place"]] = value
        return value


def _write_array(array: Array, folder: Path, place: int) -> str:
    """Write an array into a file and return its name."""
    if array.dtype.kind in "biufcmMUS":
        with (folder / f"{place}.npy").open("wb") as file:  # np.save does not report a full disk
            np.lib.format.write_array_header_1_0(file, np.lib.format.header_data_from_array_1_0(array))
            file.write(array.reshape(-1, order="A").view(np.uint8).data)
        return f"{place}.npy"
    texts = array.tolist()
    plain = array.dtype.kind == "O" or array.dtype == np.dtypes.StringDType()
    if array.ndim != 1 or not plain or not all(type(text) is str for text in texts):
        raise NotStorableError(f"an array of {array.dtype} with values other than texts")
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        column = pa.array(texts, pa.large_string())
    except UnicodeEncodeError as error:
        raise NotStorableError("a text that is not Unicode") from error
    name = f"{place}.{array.dtype.kind}.parquet"
    pq.write_table(pa.table({"text": column}), folder / name, compression="snappy")
    return name


def read_array(path: Path) -> Array:
    """Return the array of a file that ``write`` wrote."""
    check_plain(path, own=True)
    if path.suffix == ".npy":
        large = path.stat().st_size > MAPPED
        return np.asarray(np.load(path, mmap_mode="c" if large else None, allow_pickle=False))
    import pyarrow.parquet as pq

    texts = np.array(pq.read_table(path)["text"].to_pylist(), dtype=object)
    return texts if path.suffixes[-2] == ".O" else texts.astype(np.dtypes.StringDType())
