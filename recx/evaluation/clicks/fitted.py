"""A fitted click model: tables of what items are worth, and grades for evaluation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from recx.core.errors import InputError
from recx.core.types import Doubles, Notes

if TYPE_CHECKING:
    import pandas as pd

RARE = 30
"""Below so many looks, an item is counted as rarely examined."""


@dataclass(frozen=True, eq=False, repr=False)
class ClickModel:
    """What a click model says of a log.

    Attributes:
        model: ``cascade``, ``sdbn`` or ``dbn``.
        items: A row for each item, or for each query and item where the log has queries: impressions, clicks, examined
            (how often a user looked at it, in expectation), attractiveness (the chance of a click on an item that is
            looked at) and, but for the cascade, satisfaction (the chance that a click satisfies) and relevance (their
            product), each with its interval (``_low``, ``_high``).
        continuation: The chance that a user who is not satisfied looks at the next item.
        continuation_interval: Its ends; equal where it is fixed.
        trace: Of ``dbn``, the logarithm of likelihood times prior before each iteration and after the last; of the
            others, which need no iterations, that of the likelihood alone.
        converged: Whether no parameter changed by more than the tolerance in the last iteration.
        notes: Counts of the log.
        rules: How it was estimated.
    """

    model: str
    items: pd.DataFrame
    continuation: float
    continuation_interval: tuple[float, float]
    trace: Doubles
    converged: bool
    notes: Notes
    rules: Mapping[str, Any]

    @property
    def iterations(self) -> int:
        """The iterations of expectation maximisation."""
        return len(self.trace) - 1

    @property
    def warnings(self) -> list[str]:
        """What to know before these figures are used."""
        found = []
        if not self.converged:
            found.append(
                f"not converged after {self.iterations} iterations: raise iterations, or tolerance if its changes are "
                "small enough"
            )
        if rare := int(self.notes["rarely_examined"]):
            found.append(f"{rare} of {len(self.items)} rows rest on fewer than {RARE} looks: see their intervals")
        return found

    def grades(self, users: Sequence[Any] | None = None) -> pd.DataFrame:
        """Return what the model knows as judgements: user, item and grade, for ``recx.evaluate``.

        A grade is the chance that a user who looks at the item stops there: the attractiveness of the cascade, and the
        relevance of the others. So ``err_prob`` and ``cascade_prob`` take it as it is, and ``err`` would map it once
        more.

        Args:
            users: Whose lists are judged, where the log has no queries; each gets the grade of every item. Otherwise
                the users are the queries.

        Raises:
            InputError: The log has queries and users are given, or has none and they are not.
        """
        import pandas as pd

        item = self.items["item"].to_numpy()
        grade = self.items["attractiveness" if self.model == "cascade" else "relevance"].to_numpy()
        if "query" in self.items:
            if users is not None:
                raise InputError("users=: grades are of the queries of the log, which are the users: leave it out")
            return pd.DataFrame({"user": self.items["query"].to_numpy(), "item": item, "grade": grade})
        if users is None:
            raise InputError(
                "grades: the log has no queries, so every item has one grade for all: give the users whose lists are "
                "judged, as in grades(users=lists['user'].unique())"
            )
        whom = np.asarray(users)
        return pd.DataFrame(
            {"user": np.repeat(whom, len(item)), "item": np.tile(item, len(whom)), "grade": np.tile(grade, len(whom))}
        )

    def __repr__(self) -> str:
        low, high = self.continuation_interval
        moves = f"continuation {self.continuation:.4f}" + (f" ({low:.4f} to {high:.4f})" if low < high else "")
        steps = f", {self.iterations} iterations" if self.iterations else ""
        counts = ", ".join(f"{name.replace('_', ' ')} {int(count):,}" for name, count in self.notes.items())
        return "\n".join(
            [f"{self.model}: {moves}{steps}", counts, *self.warnings, "", self.items.to_string(max_rows=20)]
        )
