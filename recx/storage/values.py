"""Values as files: ``.npy`` for numbers, ``.parquet`` for texts, and one JSON file for the structure; no pickle.

The stage cache keeps the results of stages so, and a run its fitted parts: whatever is made of plain values, arrays,
SciPy's CSR arrays, the types that pass between parts, and parts, which are dataclasses of these. A part with anything
else, such as a network, writes and reads files of its own (see ``recx.core.kept_parts.Saveable``).

Numbers are read memory-mapped (a private copy of each page that is written to), with the same type, order and values.
An object that occurs several times is read as one object.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from recx.core.entities import ClassLists, Entities
from recx.core.errors import InputError
from recx.core.evaluation import Evaluation
from recx.core.fit_summary import FitSummary
from recx.core.graphs import Graphs
from recx.core.kept_parts import Checked, Saveable
from recx.core.ragged import check_borders, check_numbers
from recx.core.system.plain_files import MIB, check_plain, read_text
from recx.core.types import Array, Fold, Interactions, RankedLists, Requests

VALUE = "value.json"
MAPPED = 1 << 16  # size in bytes above which an array is mapped rather than read
NUMBERS = "biufcmMUS"
"""Kinds of arrays that are kept as ``.npy``; the others are texts."""
SCALARS = "biufU"
"""Kinds of single numbers and texts of NumPy."""
LARGEST = 512 * MIB  # of the structure, which holds plain numbers and texts too
_ARRAY = re.compile(r"\d+\.(npy|[A-Z]\.parquet)", re.ASCII)

_TYPES: dict[str, Any] = {
    kind.__name__: kind
    for kind in (ClassLists, Entities, Evaluation, FitSummary, Fold, Graphs, Interactions, RankedLists, Requests)
}

T = TypeVar("T", bound=type)
Locate = Callable[[str], type]
"""Returns the class of a part by its path ``module.Class``; raises InputError for one that may not be made."""


def storable(kind: T) -> T:
    """Allow instances of a dataclass to be written: a decorator for types above this layer."""
    _TYPES[kind.__name__] = kind
    return kind


class NotStorableError(TypeError):
    """A value contains something that cannot be stored.

    Attributes:
        page: The page of ``recx help`` that says more.
    """

    def __init__(self, what: str, page: str = "own-part") -> None:
        super().__init__(what)
        self.page = page


def no_parts(path: str) -> type:
    """Refuse every class: the value that is read or written has no parts."""
    raise InputError(f"{path} is no plain value")


def write(value: Any, folder: Path, locate: Locate = no_parts) -> None:
    """Write a value into a folder.

    Args:
        value: The value.
        folder: The folder, which exists.
        locate: Finds the classes of parts again; without it, no part may be among the value.

    Raises:
        NotStorableError: It contains more than plain values, arrays, types that pass between parts, and parts.
    """
    text = json.dumps(_Writer(folder, locate).encoded(value))
    with (folder / VALUE).open("w", encoding="utf-8") as file:
        file.write(text)


def is_storable(value: Any, locate: Locate = no_parts) -> bool:
    """Return whether ``write`` can write a value."""
    return not why_not_storable(value, locate)


def why_not_storable(value: Any, locate: Locate = no_parts) -> tuple[str, str] | None:
    """Return what ``write`` cannot write of a value, and the page that says more; None if it can write it."""
    try:
        _Writer(None, locate).encoded(value)
    except NotStorableError as error:
        return str(error), error.page
    return None


def read(folder: Path, locate: Locate = no_parts) -> Any:
    """Return the value that ``write`` wrote into a folder.

    Args:
        folder: The folder.
        locate: Finds the classes of parts.

    Raises:
        InputError: A class may not be made, or a file is not a plain one.
        Exception: A file is missing or damaged, and whatever making a class of damaged values raises.
    """
    return _Reader(folder, locate).value(json.loads(read_text(folder / VALUE, LARGEST, own=True)))


@dataclass(frozen=True)
class _Writer:
    """Encodes values; without a folder, no arrays are written."""

    folder: Path | None
    locate: Locate
    numbers: dict[int, int] = field(default_factory=dict)
    alive: list[Any] = field(default_factory=list)  # so that no other object reuses an id in ``numbers``

    def encoded(self, value: Any) -> Any:
        """Return the JSON of a value, after writing the arrays in it."""
        if value is None or type(value) in (bool, int, float, str):
            return value
        if isinstance(value, np.generic):
            if value.dtype.kind not in SCALARS or type(value.item()) not in (bool, int, float, str):
                raise NotStorableError(f"a number of {value.dtype}")
            return {"scalar": [value.dtype.str, value.item()]}
        if isinstance(value, Mapping):
            if not all(isinstance(name, str) for name in value):
                raise NotStorableError("a mapping with keys other than texts")
            if hasattr(type(value), "__missing__"):  # as a plain mapping, it would lack these keys
                raise NotStorableError(f"a {type(value).__name__}, which has values for keys that are not in it")
            return {"mapping": [[name, self.encoded(inner)] for name, inner in value.items()]}
        if type(value) in (list, tuple):
            return {type(value).__name__: [self.encoded(inner) for inner in value]}
        if id(value) in self.numbers:
            return {"same": self.numbers[id(value)]}
        place = self.numbers[id(value)] = len(self.numbers)
        self.alive.append(value)
        return {**self._object(value, place), "place": place}

    def _object(self, value: Any, place: int) -> dict[str, Any]:
        """Return the JSON of an array or of an object with fields."""
        if type(value) in (np.ndarray, np.memmap):  # one with a mask, or a matrix, would come back as another
            return {"array": _write_array(value, self.folder, place)}
        if _is_csr(value):
            return {"csr": [self.encoded(of) for of in (value.data, value.indices, value.indptr)], "shape": value.shape}
        kind, path = type(value), _path_of(type(value))
        if hasattr(kind, "not_kept"):
            raise NotStorableError(kind.not_kept.what, kind.not_kept.page)
        if kind is _TYPES.get(kind.__name__):
            return {"type": kind.__name__, "fields": self._fields(value)}
        if not self._is_found(kind, path):
            raise NotStorableError(f"a {kind.__name__}, which is no part that can be found by its name")
        if isinstance(value, Saveable):
            if self.folder is not None:
                (self.folder / f"{place}.part").mkdir()
                value.save(self.folder / f"{place}.part")
            return {"saved": path}
        if not is_dataclass(kind):
            raise NotStorableError(f"a {kind.__name__}, which is no dataclass and has no methods save and load")
        return {"part": path, "fields": self._fields(value)}

    def _fields(self, value: Any) -> dict[str, Any]:
        return {one.name: self.encoded(getattr(value, one.name)) for one in fields(value) if one.init}

    def _is_found(self, kind: type, path: str) -> bool:
        try:
            return self.locate(path) is kind
        except InputError:
            return False


def _is_csr(value: Any) -> bool:
    """Return whether a value is one of SciPy's CSR arrays; where SciPy is not in use, there are none."""
    sparse = sys.modules.get("scipy.sparse")
    return sparse is not None and isinstance(value, sparse.csr_array) and value.ndim == 2


def _path_of(kind: type) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"


@dataclass(frozen=True)
class _Reader:
    folder: Path
    locate: Locate
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
        if "scalar" in data:
            kind, number = np.dtype(data["scalar"][0]), data["scalar"][1]
            if kind.kind not in SCALARS:
                raise ValueError(f"a number of {kind}")
            return kind.type(number)
        if "same" in data:
            return self.made[data["same"]]
        value = self._object(data)
        if data["place"] in self.made:
            raise ValueError(f"the place {data['place']} occurs twice")
        self.made[data["place"]] = value
        return value

    def _object(self, data: dict[str, Any]) -> Any:
        if "array" in data:
            if not _ARRAY.fullmatch(data["array"]):
                raise ValueError(f"{data['array']} is not the name of an array")
            return read_array(self.folder / data["array"])
        if "csr" in data:
            return _csr([self.value(of) for of in data["csr"]], data["shape"])
        if "saved" in data:
            kind = self._found(data["saved"])
            if not issubclass(kind, Saveable):
                raise ValueError(f"{data['saved']} has no methods save and load")
            return kind.load(self.folder / f"{int(data['place'])}.part")
        kind = _TYPES[data["type"]] if "type" in data else self._found(data["part"])
        if not is_dataclass(kind):
            raise ValueError(f"{data['part']} is no dataclass")
        if data["fields"].keys() != {one.name for one in fields(kind) if one.init}:
            raise ValueError(f"other fields than those of {kind.__name__}")
        value = kind(**{name: self.value(inner) for name, inner in data["fields"].items()})
        if isinstance(value, Checked):
            value.check_read()
        return value

    def _found(self, path: str) -> type:
        """Return the class of a part, unless it is one that ``write`` never writes, such as one that runs a program."""
        kind = self.locate(path)
        if hasattr(kind, "not_kept"):
            raise InputError(f"{path}: no file may hold {kind.not_kept.what}")
        return kind


def _csr(arrays: list[Any], shape: list[int]) -> Any:
    """Return a CSR array whose borders and columns are checked: compiled code would read anywhere by wrong ones."""
    data, indices, indptr = arrays
    check_borders(indptr, len(indices))
    check_numbers(indices, shape[1])
    if data.shape != indices.shape or indices.ndim != 1 or len(indptr) != shape[0] + 1:
        raise ValueError(f"no sparse array of {shape[0]} x {shape[1]}")
    from scipy import sparse

    return sparse.csr_array((data, indices, indptr), shape=tuple(shape))


def _write_array(array: Array, folder: Path | None, place: int) -> str:
    """Write an array into a file, unless there is no folder, and return its name."""
    if array.dtype.kind in NUMBERS:
        if folder is None:
            return ""
        with (folder / f"{place}.npy").open("wb") as file:  # np.save does not report a full disk
            np.lib.format.write_array_header_1_0(file, np.lib.format.header_data_from_array_1_0(array))
            file.write(np.ascontiguousarray(array.reshape(-1, order="A")).view(np.uint8).data)
        return f"{place}.npy"
    texts = array.tolist()
    plain = array.dtype.kind == "O" or array.dtype == np.dtypes.StringDType()
    if array.ndim != 1 or not plain or not all(type(text) is str for text in texts):
        raise NotStorableError(f"an array of {array.dtype} with values other than texts")
    if folder is None:
        return ""
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
        array = np.load(path, mmap_mode="c", allow_pickle=False)  # mapped: no header can ask for more than is there
        if array.dtype.kind not in NUMBERS:
            raise ValueError(f"{path.name} holds {array.dtype}")
        return np.asarray(array) if path.stat().st_size > MAPPED else np.array(array, order="K")
    import pyarrow.parquet as pq

    texts = np.array(pq.read_table(path)["text"].to_pylist(), dtype=object)
    return texts if path.suffixes[-2] == ".O" else texts.astype(np.dtypes.StringDType())
