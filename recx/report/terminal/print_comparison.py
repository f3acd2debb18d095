"""A comparison for people, as tables of text, and for programs, as JSON.

One table per metric: first a row for every run with its mean, then a row for every run against the baseline.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich.text import Text

from recx.core.nouns import ORDINARY, Nouns
from recx.core.system.serialize import plain
from recx.evaluation.verdicts import first_of, sides, told_apart
from recx.evaluation.warnings import SIGNIFICANT
from recx.report.terminal.formats import figure, p_value, percent, words
from recx.report.terminal.text_table import bullets, section, show, table

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.table import Table

    from recx.evaluation.compare import Comparison

HEAD = ("mean", "low", "high", "relative", "win/tie/loss", "d_z", "p t", "p flip", "Holm")
"""The figures of a difference."""

Row = Mapping[str, Any]
Say = Callable[[str], str]


def print_comparison(console: Console, comparison: Comparison, nouns: Nouns = ORDINARY) -> None:
    """Print the warnings, then one table per metric.

    Args:
        console: Where to print.
        comparison: The comparison.
        nouns: What its users and items are called.
    """
    show(console, _parts(comparison, nouns.say))


def json_of(comparison: Comparison) -> str:
    """Return the comparison as JSON: ``rows`` contains the table; an undefined number is null."""
    names = ("baseline", "runs", "about", "by", "tested", "warnings", "notes")
    document = {
        **{name: getattr(comparison, name) for name in names},
        **{name: getattr(comparison.procedure, name) for name in ("level", "resamples", "draws", "seed")},
        "margin": comparison.margin,
        "rows": comparison.table.to_dict("records"),
        "pairs": None if comparison.pairs is None else comparison.pairs.to_dict("records"),
        "slices": None if comparison.slices is None else comparison.slices.to_dict("records"),
        "crossings": {metric: comparison.crossings(metric) for metric in comparison.table["metric"].unique()},
    }
    return json.dumps(plain(document), indent=2)


def _parts(comparison: Comparison, say: Say) -> Iterator[RenderableType]:
    between = " against " if comparison.tested else " beside "
    yield Text(f"{', '.join(comparison.runs)}{between}{comparison.baseline}", "bold")
    yield from (Text(f"  {name}: {about}", "dim") for name, about in comparison.about.items())
    yield from section("read this first", bullets(map(say, comparison.warnings)), "bold yellow")
    for metric, of_metric in comparison.table.groupby("metric", sort=False):
        rows: list[Row] = of_metric.to_dict("records")
        tables = (
            [_means(rows, comparison.by, say), *_against(rows, comparison)]
            if comparison.tested
            else [_apart(rows, say)]
        )
        said = first_of(comparison.crossings(str(metric)))
        if (pairs := comparison.pairs) is not None:
            tables.append(_between(pairs[pairs["metric"] == metric].to_dict("records"), comparison))
            said = [*told_apart(pairs, str(metric)), *said]
        yield from section(str(metric), [*tables, *bullets(map(say, said))], "bold cyan")
    if not comparison.tested:
        return
    yield ""
    yield Text(say(_footnote(comparison)), "dim")


def _apart(rows: Sequence[Row], say: Say) -> Table:
    """Return a row for every run, over its own users."""
    lines = [[row["run"], f"{row['users']:,}", *_with_interval(row, "mean")] for row in rows]
    return table(["run", say("users"), "mean", "low", "high"], lines)


def _means(rows: Sequence[Row], by: str | None, say: Say) -> Table:
    """Return a row for every run of every slice; one for the baseline, unless its users differ from run to run."""
    found: dict[tuple[str, int, str], list[str]] = {}
    for row in rows:
        here = {(one["users"], figure(one["mean_baseline"])) for one in rows if one["slice"] == row["slice"]}
        name = row["baseline"] if len(here) == 1 else f"{row['baseline']} (with {row['run']})"
        found[row["slice"], 0, name] = [f"{row['users']:,}", *_with_interval(row, "mean_baseline")]
        found[row["slice"], 1, row["run"]] = [f"{row['users']:,}", *_with_interval(row, "mean_run")]
    order = list(dict.fromkeys(row["slice"] for row in rows))
    lines = [
        [name, *([] if by is None else [part]), *found[part, place, name]]
        for part, place, name in sorted(found, key=lambda key: (order.index(key[0]), key[1]))
    ]
    return table(["run", *([] if by is None else [words(by)]), say("users"), "mean", "low", "high"], lines)


def _against(rows: Sequence[Row], comparison: Comparison) -> Iterator[Table]:
    """Yield the differences to the baseline: a row per run or, with slices, a table per run with a row per slice."""
    tables, key = {"difference" if comparison.margin is None else "run": rows}, "run"  # equivalence takes room
    if comparison.by is not None:
        tables, key = {run: [row for row in rows if row["run"] == run] for run in comparison.runs}, "slice"
    for title, of_table in tables.items():
        lines = [[row[key], *_difference(row)] for row in of_table]
        head = [title, *HEAD, *([] if comparison.margin is None else ["equiv."])]
        yield table(head, lines, styles=["bold" if row["p_holm"] < SIGNIFICANT else "" for row in of_table])


def _between(rows: Sequence[Row], comparison: Comparison) -> Table:
    """Return a row for every pair of runs, adjusted for all pairs."""
    equivalent = [] if comparison.margin is None else ["equiv."]
    lines = [
        [
            f"{row['run']} - {row['baseline']}",
            *_with_interval(row, "difference", "+"),
            *(p_value(row[name]) for name in ("p_sign_flip", "p_holm", *_equivalence(row))),
        ]
        for row in rows
    ]
    styles = ["bold" if row["p_holm"] < SIGNIFICANT else "" for row in rows]
    return table(["pair", "mean", "low", "high", "p flip", "Holm", *equivalent], lines, styles=styles)


def _equivalence(row: Row) -> list[str]:
    return [name for name in ("p_equivalent_holm",) if name in row]


def _difference(row: Row) -> list[str]:
    return [
        *_with_interval(row, "difference", "+"),
        percent(row["relative"], "+"),
        f"{row['wins']}/{row['ties']}/{row['losses']}",
        figure(row["d_z"], "+", digits=2),
        *(p_value(row[name]) for name in ("p_t", "p_sign_flip", "p_holm", *_equivalence(row))),
    ]


def _with_interval(row: Row, name: str, sign: str = "") -> list[str]:
    return [figure(row[column], sign) for column in (name, f"{name}_low", f"{name}_high")]


def _footnote(comparison: Comparison) -> str:
    procedure, family = comparison.procedure, len(comparison.table)
    how = procedure.in_words(int(comparison.table["users"].max()))
    within = (
        ""
        if comparison.margin is None
        else (
            f" equiv.: two one-sided t-tests that the difference lies within ±{comparison.margin:g}, adjusted by Holm."
        )
    )
    of_pairs = "" if comparison.pairs is None else f" Pairs: adjusted for all {len(comparison.pairs):,}."
    of_slices = "" if comparison.slices is None else f" {sides(comparison.slices)}."
    return (
        f"Low, high: {how['intervals']}. p t: paired t-test; p flip: {how['flips']}; both two-sided. "
        f"Holm: p flip adjusted for the family of {family:,} comparisons here. Win, tie, loss: users; d_z: Cohen's."
        f"{of_pairs}{of_slices}{within}"
    )
