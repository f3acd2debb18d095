"""Requests whose text is on both sides of a split: their answers are known from another request of the same text."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from recx.core.protocols import FoldName
from recx.core.types import Split
from recx.parts.shared.same_text import tasks_of, whole_tasks

SHOWN = 60  # characters of an example
LEARNED_FROM = {"test": "train or valid", "valid": "train", "predict": "the history"}


@dataclass(frozen=True)
class RepeatedTexts:
    """How many requests of a fold have a text that is learned from too.

    Attributes:
        count: Their number.
        of: Number of requests that are new and have a text.
        why: What it means, with an example and the setting that decides; "" if there are none.
    """

    count: int
    of: int
    why: str


def repeated_texts(split: Split, fold: FoldName) -> RepeatedTexts | None:
    """Return how often the texts of new requests are on both sides; None if requests have no texts or none is new.

    A user with a history asks again, so that the text is the same by right; only users without one are looked at.
    """
    history, asked = split.fold.history, split.fold.requests.user
    asked = asked[history.lengths[asked] == 0]
    table = history.users.table
    if "text" not in table or not len(asked):
        return None
    known = history.lengths > 0
    if split.past is not None:
        known[split.past.requests.user] = True
    known[split.fold.requests.user] = False
    tasks = tasks_of(history.users)
    twin = {tasks[user]: user for user in np.flatnonzero(known)[::-1]}
    twins = [(user, twin[tasks[user]]) for user in asked if tasks[user] and tasks[user] in twin]
    if not twins:
        return RepeatedTexts(0, len(asked), "")
    ids, (one, other) = history.users.shown, twins[0]
    group = "[trace,text]" if "trace" in table and "request" not in table else "text"
    text = "".join(sign if sign.isprintable() else " " for sign in whole_tasks(history.users)[one][:SHOWN])
    return RepeatedTexts(
        len(twins),
        len(asked),
        f"what they ask stands in {LEARNED_FROM[fold]} too, but for case, blanks and punctuation, so that the answer "
        f'may be known: {ids[one]} of {fold} and {ids[other]} both ask "{text}"; split=by_user split.group={group} '
        "keeps such requests on one side",
    )
