from __future__ import annotations

from dataclasses import dataclass

import pytest

from recx.core.errors import InputError
from recx.core.preflight import preflight


@dataclass(frozen=True)
class Needing:
    """A part that needs a library."""

    asked: list[str]
    there: bool = True

    def preflight(self) -> None:
        self.asked.append("library")
        if not self.there:
            raise InputError("the library is not installed")


def test_each_part_with_requirements_is_asked() -> None:
    asked: list[str] = []
    preflight(object(), Needing(asked), None, Needing(asked))
    assert asked == ["library", "library"]


def test_what_is_missing_is_said() -> None:
    with pytest.raises(InputError, match="the library is not installed"):
        preflight(object(), Needing([], there=False))
