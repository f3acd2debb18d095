"""The split that the data brings: its own train, valid and test events."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np

from recx.core.bounds import NonNegativeInt, PositiveInt, Seed
from recx.core.errors import InputError
from recx.core.given_folds import GIVEN, TRAIN
from recx.core.protocols import FoldName, Splitter
from recx.core.row_order import count_in_groups
from recx.core.types import Bools, Interactions, Split
from recx.parts.split.folds import STEPS, Past, RequestTime, check_draw, may_be_target, split_by_steps, without_askers
from recx.parts.split.given_faults import in_history_too, older_than_history

Treatment = Literal["refuse", "drop", "keep"]
WHAT = {
    "overlap": "are in the history of their user too, as where one event is in two files",
    "older": "are older than the last event that is known of their user, so that a model may know what came after them",
}
NOTES = {"overlap": "in_history_too", "older": "older_than_history"}
READINGS = {
    "overlap": "drop, which leaves such targets out, or keep, if users come back to items",
    "older": "drop, which leaves such targets out, or keep, as where events were dealt at random",
}

WITHIN = "past_within_train"
"""The note that the ranker learns from a step within train."""


@dataclass(frozen=True)
class Given:
    """Train, valid and test are what the data says (``dataset.fold``, or files of their own).

    With ``fold=test`` the history is train and valid, and the ranker learns from valid with train as its history; with
    ``fold=valid`` the history is train. Where no part lies between train and the fold, the ranker learns from a step
    within train.

    Attributes:
        within: Makes a step within train where the data gives none; None: then the ranker has nothing to learn from.
        overlap: Targets that the history of their user has too (user, item and time; without times, user and item):
            ``refuse`` them, ``drop`` and count them, or ``keep`` and count them.
        older: The same for targets that are older than the last known event of their user.
        min_history: Number of events that a user needs in the history; 0: new users have requests too.
        request_time: Whether a request is made when its first ``target`` happened or right after the ``last_event``.
        past: Whether the ranker is trained one ``step`` earlier, or there is ``none``.
        users: File with the ids of the users who are evaluated, one a line; None: all.
        max_users: Largest number of users who are evaluated, drawn at random; None: all. The history and the past fold
            are the same whoever is drawn.
        seed: Seed of the draw; None where nobody is drawn.
    """

    within: Splitter | None
    overlap: Treatment = "refuse"
    older: Treatment = "refuse"
    min_history: NonNegativeInt = 0
    request_time: RequestTime = "target"
    past: Past = "step"
    users: Path | None = None
    max_users: PositiveInt | None = None
    seed: Seed | None = 0

    def __post_init__(self) -> None:
        check_draw(self)

    def split(self, interactions: Interactions, fold: FoldName) -> Split:
        """Return the fold whose targets are the events that the data gives it.

        Raises:
            InputError: The data does not say what belongs to which fold, or nothing belongs to this one; the fold has
                targets that are refused, or no requests.
        """
        given = interactions.given_fold
        if given is None:
            raise InputError(
                "split=given needs data that says which events are train, valid and test: name the column that does, "
                "such as dataset.fold=split, or the files, such as dataset.test=test.csv; or choose another split"
            )
        present = [code for code in range(len(GIVEN)) if (given == code).any()]
        if fold != "predict" and GIVEN.index(fold) not in present:
            named = ", ".join(GIVEN[code] for code in present)
            raise InputError(f"fold={fold}: the data gives no event to {fold}, only to {named}: choose another fold")
        now = len(GIVEN) if fold == "predict" else GIVEN.index(fold)
        before = max((code for code in present if TRAIN < code < now), default=TRAIN)
        data, notes = replace(interactions, given_fold=None), dict[str, float]()

        def step(back: int) -> tuple[Bools, Bools]:
            part = now if back == STEPS[fold] else before
            return self._masks(data, given < part, given == part, GIVEN[part], notes)

        past: Past = self.past if before != TRAIN else "none"
        split = split_by_steps(data, fold, step, self.request_time, past, self)
        split = replace(split, notes={**split.notes, **notes})
        if self.past == "step" and split.past is None and self.within is not None:
            split = _with_past(split, data.keep(given == TRAIN), self.within, fold)
        return split

    def _masks(
        self, data: Interactions, history: Bools, target: Bools, part: str, notes: dict[str, float]
    ) -> tuple[Bools, Bools]:
        """Return the masks (history, target) without the targets that are not asked for, which are counted."""
        target = target & may_be_target(data)[data.user]
        for name, find in (("overlap", in_history_too), ("older", older_than_history)):
            rows, treatment = find(data, history, target), getattr(self, name)
            if not rows.any():
                continue
            if treatment == "refuse":
                row = int(np.argmax(rows))
                raise InputError(
                    f"split=given: {int(rows.sum()):,} of {int(target.sum()):,} targets of {part} {WHAT[name]}, such "
                    f"as item {data.items.ids[data.item[row]]} of user {data.users.ids[data.user[row]]}: set "
                    f"split.{name}={READINGS[name]}"
                )
            notes[f"{part}_targets_{NOTES[name]}_{'dropped' if treatment == 'drop' else 'kept'}"] = int(rows.sum())
            if treatment == "drop":
                target = target & ~rows
        short = count_in_groups(history, data.indptr) < self.min_history
        cold = short & (count_in_groups(target, data.indptr) > 0)
        notes[f"{part}_users_left_out_too_little_history"] = int(cold.sum())
        return history, target & ~short[data.user]


def _with_past(split: Split, train: Interactions, within: Splitter, fold: FoldName) -> Split:
    """Return a split with a past within train, if train is large enough for one."""
    with suppress(InputError):
        past = within.split(train, "test").fold
        if fold != "predict":
            past, _ = without_askers(past, split.fold.requests.user)
        if not len(past.requests):
            return split
        return replace(split, past=past, notes={**split.notes, "past_requests": len(past.requests), WITHIN: 1})
    return split
