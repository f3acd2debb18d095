"""What a fitted part may do to be kept in files, or not; most need none of it (see ``recx.storage.values``)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, Self, runtime_checkable


@dataclass(frozen=True)
class NotKept:
    """Why a part is never written into files, nor made from what a file says: its class variable ``not_kept``.

    Attributes:
        what: What it is, for the sentence "the model is not kept, since it contains …".
        page: The page of ``recx help`` that says more.
    """

    what: str
    page: str


@runtime_checkable
class Saveable(Protocol):
    """A fitted part that is made of more than plain values, arrays, settings and other parts, such as a network.

    All others are kept without code of their own (see ``recx.storage.values``).
    """

    def save(self, folder: Path) -> None:
        """Write everything needed to serve again into an empty folder; no pickle."""

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Return the part that was saved into a folder.

        Raises:
            InputError: A file is missing or damaged, or something else that the part needs is.
        """


@runtime_checkable
class Checked(Protocol):
    """A part with arrays by which compiled code finds its way, such as borders and numbers of rows.

    Compiled code does not check where it reads, so a file must not be able to lead it elsewhere.
    """

    def check_read(self) -> None:
        """Raise ValueError unless the arrays fit one another; called when the part was read from a file."""
