"""A figure of all users that follows from sums over them, so that blocks of users can be summed one after another."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from recx.core.errors import RecxError

T = TypeVar("T")
Array = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class Total(Generic[T]):
    """What some users contribute to a figure of all users; those of blocks of users are added up, in the users' order.

    Attributes:
        sums: Sums over these users [n, ...].
        finish: Makes the figure from the sums over all users.

    Raises:
        RecxError: ``sums`` is no array, or has no dimension: it could not be added up, once there are several blocks.
    """

    sums: Array
    finish: Callable[[Array], T]

    def __post_init__(self) -> None:
        if not isinstance(self.sums, np.ndarray) or not self.sums.ndim:
            raise RecxError(
                f"the sums of a Total must be an array of one dimension or more, and here are a "
                f"{type(self.sums).__name__}: give np.array([{self.sums}]), and let finish read sums[0]"
            )

    def __add__(self, other: Total[T]) -> Total[T]:
        """Return the total of both; sums of unequal length are sums by rank, and the shorter ones end with zeros."""
        n = max(len(self.sums), len(other.sums))
        sums = np.zeros((n, *self.sums.shape[1:]), np.result_type(self.sums, other.sums))
        for of in (self, other):
            sums[: len(of.sums)] += of.sums
        return Total(sums, self.finish)

    def __float__(self) -> float:
        return float(self.value)  # type: ignore[arg-type]  # of a figure that is one number

    @property
    def value(self) -> T:
        """The figure, if these are all users."""
        return self.finish(self.sums)
