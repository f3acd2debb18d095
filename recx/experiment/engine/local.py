"""Serves the blocks of requests on this machine, one after the other."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass
from typing import TypeVar

from recx.core.types import Requests

T = TypeVar("T")


@dataclass(frozen=True)
class Local:
    """One block at a time: what serves it uses all cores itself."""

    def each(self, work: Callable[[Requests], T], blocks: Iterable[Requests]) -> Generator[T, None, None]:
        """Yield the result of ``work`` for each block, in order; the next block is taken when its result is wanted."""
        yield from map(work, blocks)
