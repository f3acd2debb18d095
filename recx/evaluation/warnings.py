"""Sentences to read before the figures of a comparison."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from recx.core.evaluation import Evaluation
from recx.core.resampling import FEW_USERS, ROUNDING, Procedure
from recx.core.types import Bools, Doubles
from recx.evaluation.rules import differing

if TYPE_CHECKING:
    import pandas as pd

ALL = "all"
"""The slice of every user."""
SIGNIFICANT, SMALL_EFFECT = 0.05, 0.05
LISTED, LONGEST = 6, 60
"""The number of names listed, and the length to which a rule is shown."""


def differing_cards(runs: Sequence[Evaluation]) -> Iterator[str]:
    """Yield a sentence for every run whose protocol card differs from that of the first, then each differing rule.

    These are the rules of figures that both have.
    """
    for run in runs[1:]:
        found = differing(_rules(runs[0]), _rules(run), runs[0].means.keys() & run.means.keys())
        if found:
            both = f"{runs[0].name} and {run.name}"
            yield f"the protocol cards of {both} differ, so their figures may mean different things:"
        for name, pair in found.items():
            shown = [rule if len(rule) <= LONGEST else f"{rule[: LONGEST - 1]}…" for rule in pair]
            yield f"{name}: {shown[0]} vs {shown[1]}"


def ranking_shares(runs: Sequence[Evaluation]) -> Iterator[str]:
    """Yield a sentence if the ranking stage counts other shares of the users in some runs: its means do not compare."""
    users = {run.name: run.means["ranking/users"] for run in runs if "ranking/users" in run.means}
    if len(set(users.values())) > 1:
        shares = {run.name: users[run.name] / max(len(run.users), 1) for run in runs if run.name in users}
        listed = ", ".join(f"{name} {share:.1%}" for name, share in shares.items())
        yield (
            f"figures of ranking/ count only the users whose target was retrieved ({listed}), so their means are of "
            "different users and must not order these runs: compare end_to_end/, or tests of ranking/, which take the "
            "users that count in both"
        )


def _rules(run: Evaluation) -> dict[str, Any]:
    """Return the rules of a run but for its targets: runs whose targets differ are not compared."""
    return {name: rule for name, rule in run.protocol.items() if name != "truth"}


def without_list(runs: Sequence[Evaluation]) -> tuple[dict[str, float], list[str]]:
    """Count the users without a list, each of whom counts 0: name -> count, where it is not 0, and a sentence each."""
    counts = {run.name: run.notes.get("users_without_list", 0) for run in runs}
    sentences = [
        f"{run.name} has no list for {counts[run.name]:,.0f} of its {len(run.users):,} users, who count 0: "
        "if they should have one, its figures are not those of its lists"
        for run in runs
        if counts[run.name]
    ]
    return {f"{name}/users_without_list": count for name, count in counts.items() if count}, sentences


def unpaired(
    runs: Sequence[Evaluation], metrics: Sequence[str], cube: Doubles, present: Sequence[Bools]
) -> tuple[dict[str, float], list[str]]:
    """Count the users and values that have no counterpart in the first run.

    Args:
        runs: The evaluations.
        metrics: [n_metrics].
        cube: The values [n_users, n_metrics, n_runs], NaN where there is none.
        present: For each run, a mask of the users [n_users] that it contains.

    Returns:
        Name -> count, where it is not 0, and a sentence for each.
    """
    notes: dict[str, float] = {}
    sentences = []
    first = runs[0]
    for place, run in enumerate(runs[1:], start=1):
        here = present[0] & present[place]
        for one, other, name in ((first, run, "users_only_in_baseline"), (run, first, "users_only_in_run")):
            alone = len(one.users) - int(here.sum())
            if alone:
                notes[f"{run.name}/{name}"] = alone
                sentences.append(
                    f"users of {one.name} that are not in {other.name} are left out of this pair: {alone:,} of "
                    f"{len(one.users):,}"
                )
        missing = np.isnan(cube[here])
        one_sided = (missing[:, :, 0] != missing[:, :, place]).sum(axis=0).tolist()
        counts = {metric: count for metric, count in zip(metrics, one_sided, strict=True) if count}
        if counts:
            notes |= {f"{run.name}/one_sided/{metric}": count for metric, count in counts.items()}
            listed = some([f"{metric} {count:,}" for metric, count in counts.items()])
            sentences.append(f"users that count in only one of {first.name} and {run.name} are left out: {listed}")
    return notes, sentences


def easily_misread(table: pd.DataFrame, by: str | None) -> Iterator[str]:
    """Yield a sentence for everything that makes the figures of a comparison easy to misread."""
    of_users = table["slice"].map(lambda slice_: "all users" if slice_ == ALL else f"{by} {slice_}")
    few = table["users"] < FEW_USERS
    if few.any():
        yield f"fewer than {FEW_USERS} users, so intervals and tests say little: {_rows(table, of_users, few)}"
    yield from _untested(table)
    tied = 2 * table["ties"] > table["users"]
    if tied.any():
        listed = _rows(table, table["metric"], tied)
        yield f"more than half of the differences are 0, so the tests rest on the other users: {listed}"
    small = (table["p_holm"] < SIGNIFICANT) & (table["d_z"].abs() < SMALL_EFFECT)
    if small.any():
        yield (
            f"significant, but hardly an effect (|d_z| below {SMALL_EFFECT}; with many users almost everything is "
            f"significant): {_rows(table, table['metric'], small)}"
        )


def _untested(table: pd.DataFrame) -> Iterator[str]:
    """Yield a sentence for every test and interval that cannot say anything, whatever the runs are."""
    width = table["difference_high"] - table["difference_low"]
    same = (table["users"] > 1) & (table["ties"] < table["users"]) & (width <= ROUNDING * table["difference"].abs())
    if same.any():
        yield (
            "every user has the same difference: without variance there is no t-test (p t), and an interval without "
            f"width is not certainty: {_rows(table, table['metric'], same)}"
        )
    widths = [(table[f"{side}_high"] - table[f"{side}_low"]).abs() for side in ("mean_baseline", "mean_run")]
    flat = (table["users"] > 1) & (np.minimum(*widths) <= ROUNDING)
    if flat.any():
        yield (
            "every user has the same value in one of the runs, and an interval without width is not certainty: "
            f"{_rows(table, table['metric'], flat)}"
        )
    differing = table["users"] - table["ties"]
    few = (table["ties"] < table["users"]) & (2.0 ** (1 - differing) >= SIGNIFICANT)
    if few.any():
        yield (
            f"too few users differ for p flip ever to fall below {SIGNIFICANT} (with n of them it is 2/2^n at least): "
            f"{_rows(table, table['metric'], few)}"
        )


def too_many_tests(rows: int, metrics: int, runs: int, parts: int, procedure: Procedure) -> Iterator[str]:
    """Yield a sentence if so many drawn tests are adjusted together that hardly any p can be small.

    Args:
        rows: The number of differences from the first run.
        metrics: The number of metrics.
        runs: The number of runs.
        parts: The number of parts of the users in all slices.
        procedure: How the tests are drawn.
    """
    of_pairs = runs * (runs - 1) // 2
    families = {"of the table": rows, "of pairs": metrics * of_pairs * (runs > 2), "of slices": parts * of_pairs}
    large = [f"{count:,} {name}" for name, count in families.items() if count / (procedure.draws + 1) >= SIGNIFICANT]
    if large:
        yield (
            f"so many tests are adjusted together ({', '.join(large)}) that none which is drawn {procedure.draws:,} "
            f"times can fall below {SIGNIFICANT}: compare fewer metrics or runs, or draw more (from Python: draws=)"
        )


def some(names: Sequence[str]) -> str:
    """Return the first few names and, if there are more, their number."""
    return ", ".join(names[:LISTED]) + (f" … ({len(names)} in all)" if len(names) > LISTED else "")


def _rows(table: pd.DataFrame, labels: pd.Series[str], chosen: pd.Series[bool]) -> str:
    """Return the labels of the chosen rows, each once, with the run if there are several."""
    named = labels + " (" + table["run"] + ")" if table["run"].nunique() > 1 else labels
    return some(named[chosen].unique().tolist())
