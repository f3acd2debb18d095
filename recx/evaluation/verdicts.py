"""What differences between runs come to: which are told apart, and which change sides between parts of the users.

"Above" is of the mean: for a metric of which less is better, such as logloss, the lower run is the better one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from recx.evaluation.warnings import LISTED, SIGNIFICANT, some

if TYPE_CHECKING:
    import pandas as pd


def told_apart(pairs: pd.DataFrame, metric: str) -> list[str]:
    """Return which pairs of runs are told apart by a metric, which are not, and which are equivalent, if tested.

    Args:
        pairs: The differences of all pairs (see ``Comparison.pairs``).
        metric: The metric.
    """
    rows = pairs[pairs["metric"] == metric]
    apart = rows[rows["higher"] != ""]
    lower = apart["baseline"].where(apart["higher"] == apart["run"], apart["run"])
    said = {f"of {len(rows):,} pairs, told apart": (apart["higher"] + " above " + lower).tolist() or ["none"]}
    parts = {"not told apart": rows["higher"] == ""}
    if "p_equivalent_holm" in rows:
        parts["equivalent within the margin"] = rows["p_equivalent_holm"] < SIGNIFICANT
    said |= {what: (rows["run"] + " and " + rows["baseline"])[chosen].tolist() for what, chosen in parts.items()}
    return [f"{what}: {some(names)}" for what, names in said.items() if names]


def crossings(slices: pd.DataFrame, metric: str) -> list[str]:
    """Return a sentence for all pairs of runs of which each is told apart as the higher one in a part of the users.

    Such pairs differ in kind, not only in size, from one part to another ("qualitative interaction": Gail and Simon,
    Biometrics 41, 1985), so that their means over all users say little about a single user.

    Args:
        slices: The differences in parts of the users (see ``Comparison.slices``).
        metric: The metric.
    """
    apart = slices[(slices["metric"] == metric) & (slices["higher"] != "")]
    sentences = []
    for (by, baseline, run), rows in apart.groupby(["by", "baseline", "run"], sort=False):
        first, second = (_where(rows[rows["higher"] == name]) for name in (run, baseline))
        if first and second:
            slice_ = by.replace("_", " ")
            sentences.append(f"{run} is above {baseline} where {slice_} is {first}, and below it where it is {second}")
    return sentences


def first_of(sentences: list[str]) -> list[str]:
    """Return the first few sentences and, if there are more, their number."""
    more = len(sentences) - LISTED
    return sentences if more <= 0 else [*sentences[:LISTED], f"{more:,} more pairs change sides (see slices)"]


def sides(slices: pd.DataFrame) -> str:
    """Return what was tested in parts of the users, and whether any pair of runs changes sides between them."""
    metrics = slices["metric"].unique().tolist()
    found = sum(len(crossings(slices, metric)) for metric in metrics)
    by = " and ".join(name.replace("_", " ") for name in slices["by"].unique().tolist())
    verdict = f"pairs that change sides: {found:,}" if found else "no pair is told apart in both directions"
    return f"By quarters of {by} ({len(slices) // len(metrics):,} tests a metric, adjusted by Holm): {verdict}"


def _where(rows: pd.DataFrame) -> str:
    """Return the labels of some parts, each with by how much the higher run differs and how many users it has."""
    columns = (rows[name].tolist() for name in ("slice", "difference", "users"))
    parts = [f"{label} ({difference:+.4f}, {users:,} users)" for label, difference, users in zip(*columns, strict=True)]
    return " and ".join(filter(None, (", ".join(parts[:-1]), *parts[-1:])))
