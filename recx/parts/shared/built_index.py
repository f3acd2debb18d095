"""What FAISS builds over vectors, kept in FAISS's own format."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from recx.core.errors import InputError
from recx.core.system.plain_files import check_plain

FILE = "index.faiss"


@dataclass(frozen=True, eq=False)
class BuiltIndex:
    """An index of FAISS, which pickle and NumPy cannot write.

    Attributes:
        index: The index.
    """

    index: Any

    def save(self, folder: Path) -> None:
        """Write the index into a folder."""
        import faiss

        content = faiss.serialize_index(self.index)  # FAISS's own writer does not report every full disk
        with (folder / FILE).open("wb") as file:
            file.write(content.data)

    @classmethod
    def load(cls, folder: Path) -> BuiltIndex:
        """Return the index of a folder; large parts of it are mapped.

        Raises:
            InputError: The file is missing or damaged, or names other files.
        """
        import faiss

        path = folder / FILE
        try:
            check_plain(path, own=True)
            index: Any = faiss.read_index(str(path), faiss.IO_FLAG_MMAP_IFC)
            _check(index, faiss)
        except (FileNotFoundError, RuntimeError, ValueError) as error:
            raise InputError(f"{path} holds no index of FAISS that can be read: run the experiment again") from error
        return cls(index)


def _check(index: Any, faiss: Any) -> None:
    """Raise ValueError if the vectors of an index are in another file; FAISS checks the rest as it reads."""
    index = faiss.downcast_index(index)
    inner = getattr(index, "base_index", None) or (
        index.index if isinstance(index, faiss.IndexPreTransform) else getattr(index, "quantizer", None)
    )
    if inner is not None:
        _check(inner, faiss)
    if isinstance(index, faiss.IndexIVF):
        lists = faiss.downcast_InvertedLists(index.invlists)
        if type(lists) is not faiss.ArrayInvertedLists or lists.nlist != index.nlist:
            raise ValueError("its vectors are elsewhere")
