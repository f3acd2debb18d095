"""Which column of a table of samples has which role, by its name or by a setting."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from recx.core.errors import InputError, did_you_mean

Named = str | Sequence[str] | None
"""What a setting says: a column, several, or nothing."""
USUAL: Mapping[str, tuple[tuple[str, ...], ...]] = {
    "task": (("task_id", "query_id", "qid", "request_id"), ("task", "query", "request", "user", "user_id")),
    "tool": (("tool", "tool_id", "tool_name"), ("candidate", "candidate_id", "item", "item_id")),
    "label": (("label",), ("labels", "relevance", "relevant", "correct", "is_correct", "chosen", "target")),
    "features": (("features",), ("feature", "vector", "x")),
    "text": (("text", "task_text", "query_text"), ("task", "query", "request")),
    "trace": (("trace_id", "trace"),),
    "node": (("node_id", "node"),),
    "part": (("part", "split"),),
}
"""Role -> the usual names of its column, those that come first before the others."""
SET = ("task", "tool", "label", "features")
"""Roles that a setting of the dataset names."""
_FEATURES = re.compile(r"(features?|feat|phi)[._\[-].+|[fx]\d+", re.IGNORECASE)
"""What columns of single features are usually called."""


def roles_of(names: Sequence[str], named: Mapping[str, Named], where: str) -> dict[str, str]:
    """Return role -> column, without the features: tool and label, task or trace and node, and what else there is.

    Args:
        names: The columns.
        named: Role -> what a setting says.
        where: The file, for errors.

    Raises:
        InputError: A column is missing, or could be one of several.
    """
    found = {role: _column(role, names, named.get(role), where) for role in ("tool", "label", "task")}
    found |= {role: _column(role, names, None, where) for role in ("trace", "node", "part")}
    found["text"] = _column("text", [name for name in names if name != found["task"]], None, where)
    for role in ("tool", "label", "task"):
        if found[role] is None and (role != "task" or found["trace"] is None or found["node"] is None):
            raise _missing(role, names, where)
    return {role: name for role, name in found.items() if name is not None}


def features_in(names: Sequence[str], named: Named, taken: Sequence[str], where: str) -> list[str]:
    """Return the column that holds all features, or those of single ones.

    Args:
        names: The columns.
        named: What the setting says.
        taken: The columns that have another role.
        where: The file, for errors.

    Raises:
        InputError: There is none, they could be either, or one has another role.
    """
    chosen = [named] if isinstance(named, str) else named
    if chosen is not None:
        for name in chosen:
            _require(name, names, "features", where)
            if name in taken:
                raise InputError(f"{where}: the column {name!r} would be a feature and has another role: leave it out")
        return list(dict.fromkeys(chosen))
    packed = _column("features", names, None, where)
    single = [name for name in names if _FEATURES.fullmatch(name.strip()) and name not in taken and name != packed]
    if packed is not None and single:
        raise InputError(
            f"{where}: the features could be in the column {packed!r}, or be {single[0]!r} and its like: set "
            "dataset.features to the column, or to the list of columns"
        )
    if packed is None and not single:
        raise _missing("features", names, where)
    return single if packed is None else [packed]


def _column(role: str, names: Sequence[str], named: Named, where: str) -> str | None:
    if isinstance(named, str):
        return _require(named, names, role, where)
    for usual in USUAL[role]:
        found = [name for name in names if name.strip().lower() in usual]
        if len(found) > 1:
            way_out = f"set dataset.{role}" if role in SET else "drop all but one"
            raise InputError(f"{where}: the {role} could be the column {' or '.join(map(repr, found))}: {way_out}")
        if found:
            return found[0]
    return None


def _require(name: str, names: Sequence[str], role: str, where: str) -> str:
    if name not in names:
        near = did_you_mean(name, names)
        raise InputError(f"{where}: dataset.{role} names a column {name!r}, and there is none: {near}")
    return name


def _missing(role: str, names: Sequence[str], where: str) -> InputError:
    shown = ", ".join(map(repr, names[:8]))
    return InputError(
        f"{where}: none of its columns ({shown}) is called {USUAL[role][0][0]} or the like: name that of the {role} by "
        f"dataset.{role}=COLUMN"
    )
