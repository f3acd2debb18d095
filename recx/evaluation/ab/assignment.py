"""Which users of a log are in which arm of a test: control and treatment, each user in one of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from recx.core.errors import InputError
from recx.core.types import Array, Bools, Ints, Longs
from recx.evaluation.ab.settings import Settings
from recx.evaluation.grouped import Numbered
from recx.evaluation.log_columns import quoted, refuse_any

CONTROLS = ("control", "ctrl", "baseline", "a", "0", "false", "off", "c")
"""Names, in lower case, by which the control is recognised if the other arm's name is none of them."""
LISTED = 6


@dataclass(frozen=True, eq=False)
class Assignment:
    """The users of both arms.

    Attributes:
        names: Those of control and treatment.
        rows: The rows of the log that count [n].
        arm: 0 (control), 1 (treatment) or -1 (neither) for every user [n_users].
        notes: Counts of what was left out.
    """

    names: tuple[str, str]
    rows: Longs
    arm: Ints
    notes: dict[str, int]


def assigned(user: Numbered, raw: Array, path: object, columns: tuple[str, str], settings: Settings) -> Assignment:
    """Return who is in which arm.

    Args:
        user: The user of each row.
        raw: The arm of each row, text, or None where it is missing [n].
        path: The log, for errors.
        columns: The columns of users and arms, for errors.
        settings: How arms are chosen, and what to do with rows and users that are not in one of them.

    Raises:
        InputError: The arms cannot be chosen, or rows or users are not in one of them.
    """
    import pandas as pd

    codes, labels = pd.factorize(raw)  # -1 for None
    labels = [str(label) for label in labels]
    blank = np.array([not label.strip() for label in labels] + [True])  # the last one is that of -1
    codes = np.where(blank[codes], -1, codes)
    missing = codes < 0
    if settings.missing_arm == "refuse":
        refuse_any(
            path,
            columns[1],
            missing,
            lambda row: f"the user {quoted(user.ids, user.codes[row])} has no arm (such rows: {missing.sum():,})",
            "the user may not be in the test, or the arm was lost: fill it in, or leave such rows out by --missing-arm "
            'drop (missing_arm="drop")',
        )
    found = [label for label, is_blank in zip(labels, blank, strict=False) if not is_blank]
    names = _control_and_treatment(found, f"{path}: column {columns[1]!r}", settings)
    several = _in_several(user, codes)
    number = np.full(len(labels) + 1, -1, dtype=np.int32)
    for place, name in enumerate(names):
        number[labels.index(name)] = place
    arm = number[codes]
    torn = several[user.codes] & (arm >= 0)
    torn_users = len(np.unique(user.codes[torn]))
    if settings.both_arms == "refuse":
        _refuse_torn(torn, torn_users, user, codes, labels, path, columns)
    kept = (arm >= 0) & ~torn
    of_user = np.full(len(user.ids), -1, dtype=np.int32)
    of_user[user.codes[kept]] = arm[kept]
    counts = {
        "rows_without_arm": int(missing.sum()),
        "rows_of_other_arms": int(((arm < 0) & ~missing).sum()),
        "users_in_both_arms": torn_users,
    }
    few = next((name for place, name in enumerate(names) if (of_user == place).sum() < 2), None)
    if few is not None:
        raise InputError(
            f"{path}: the arm {few!r} has fewer than two users, so nothing can be said of how users differ"
        )
    return Assignment(names, np.flatnonzero(kept), of_user, {name: n for name, n in counts.items() if n})


def _in_several(user: Numbered, codes: Array) -> Bools:
    """Return which users have rows of more than one arm [n_users]."""
    known = np.flatnonzero(codes >= 0)
    any_arm = np.full(len(user.ids), -1, dtype=np.int64)
    any_arm[user.codes[known]] = codes[known]
    several = np.zeros(len(user.ids), dtype=bool)
    several[user.codes[known][any_arm[user.codes[known]] != codes[known]]] = True
    return several


def _refuse_torn(
    torn: Bools, users: int, user: Numbered, codes: Array, labels: Sequence[str], path: object, columns: tuple[str, str]
) -> None:
    def what(row: int) -> str:
        own = dict.fromkeys(labels[code] for code in codes[user.codes == user.codes[row]].tolist() if code >= 0)
        return (
            f"the user {quoted(user.ids, user.codes[row])} is in the arms {_listed(list(own))} (such users: {users:,})"
        )

    refuse_any(
        path,
        columns[0],
        torn,
        what,
        "they may have changed arms, so that what they did belongs to neither, or one id stands for several people: "
        'correct the log, or leave such users out by --both-arms drop (both_arms="drop")',
    )


def _control_and_treatment(labels: Sequence[str], where: str, settings: Settings) -> tuple[str, str]:
    """Return the names of control and treatment.

    Raises:
        InputError: There are too few or too many arms, or it is not clear which is which.
    """
    for name, setting in ((settings.control, "control"), (settings.treatment, "treatment")):
        if name is not None and name not in labels:
            raise InputError(f"{where}: there is no arm {name!r} ({setting}), but {_listed(labels)}")
    alike: dict[str, str] = {}
    for label in labels:
        other = alike.setdefault(label.strip().casefold(), label)
        if other != label:
            raise InputError(
                f"{where}: the arms {other!r} and {label!r} could be one arm or two: write their names alike, or "
                "unlike in more than capitals and blanks"
            )
    if len(labels) < 2:
        raise InputError(f"{where}: there is one arm, {labels[0]!r}: give the log of both arms" if labels else where)
    chosen = [name for name in (settings.control, settings.treatment) if name is not None]
    if len(chosen) == 2:
        if chosen[0] == chosen[1]:
            raise InputError(f"control and treatment are both {chosen[0]!r}: name two arms")
        return chosen[0], chosen[1]
    if len(labels) > 2:
        raise InputError(
            f"{where}: there are {len(labels)} arms, {_listed(labels)}: choose two by --control and --treatment"
        )
    if chosen:
        other = next(label for label in labels if label != chosen[0])
        return (chosen[0], other) if settings.control is not None else (other, chosen[0])
    controls = [label for label in labels if label.strip().casefold() in CONTROLS]
    if len(controls) != 1:
        first, second = sorted(labels)
        raise InputError(
            f"{where}: the control could be {first!r} or {second!r}, which decides the sign of every difference: set "
            f"--control {first} or --control {second}"
        )
    return controls[0], next(label for label in labels if label != controls[0])


def _listed(names: Sequence[str]) -> str:
    some = ", ".join(map(repr, names[:LISTED]))
    return some if len(names) <= LISTED else f"{some} … ({len(names)} in all)"
