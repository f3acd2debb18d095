"""A comparison for people, as tables of text, and for programs, as JSON.

One table a metric: first a line for every run with its mean, then a line for every run against the baseline.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich.text import Text

from recx.core.system.serialize import plain
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


def print_comparison(console: Console, comparison: Comparison) -> None:
    """Print what to be careful about, then a table a metric."""
    show(console, _parts(comparison))


def json_of(comparison: Comparison) -> str:
    """Return the comparison as JSON: ``rows`` holds the table; a number that does not exist is null."""
    document = {
        "baseline": comparison.baseline,
        "runs": comparison.runs,
        "about": comparison.about,
        "by": comparison.by,
        **{name: getattr(comparison.procedure, name) for name in ("level", "resamples", "draws", "seed")},
        "warnings": comparison.warnings,
        "notes": comparison.notes,
        "rows": comparison.table.to_dict("records"),
    }
    return json.dumps(plain(document), indent=2, ensure_ascii=False)


def _parts(comparison: Comparison) -> Iterator[RenderableType]:
    yield Text(f"{', '.join(comparison.runs)} against {comparison.baseline}", "bold")
    yield from (Text(f"  {name}: {about}", "dim") for name, about in comparison.about.items())
    yield from section("read this first", bullets(comparison.warnings), "bold yellow")
    for metric, of_metric in comparison.table.groupby("metric", sort=False):
        rows: list[Row] = of_metric.to_dict("records")
        yield from section(str(metric), [_means(rows, comparison), *_against(rows, comparison)], "bold cyan")
    yield ""
    yield Text(_footnote(comparison), "dim")


def _means(rows: Sequence[Row], comparison: Comparison) -> Table:
    """Return a line for every run of every slice; for the baseline one, unless its pairs differ from run to run."""
    lines: dict[tuple[str, int, str], list[str]] = {}
    for row in rows:
        here = {(one["users"], figure(one["mean_baseline"])) for one in rows if one["slice"] == row["slice"]}
        name = row["baseline"] if len(here) == 1 else f"{row['baseline']} (with {row['run']})"
        lines[row["slice"], 0, name] = [f"{row['users']:,}", *_with_interval(row, "mean_baseline")]
        lines[row["slice"], 1, row["run"]] = [f"{row['users']:,}", *_with_interval(row, "mean_run")]
    order = list(dict.fromkeys(row["slice"] for row in rows))
    found = sorted(lines, key=lambda key: (order.index(key[0]), key[1]))
    figures = ["users", "mean", "low", "high"]
    if comparison.by is None:
        return table(["run", *figures], [[key[2], *lines[key]] for key in found])
    return table(["run", words(comparison.by), *figures], [[key[2], key[0], *lines[key]] for key in found])


def _against(rows: Sequence[Row], comparison: Comparison) -> Iterator[Table]:
    """Yield what runs are against the baseline: a line a run, or, with slices, a table a run with a line a slice."""
    tables = {"difference": rows}
    if comparison.by is not None:
        tables = {run: [row for row in rows if row["run"] == run] for run in comparison.runs}
    for title, of_table in tables.items():
        names = [row["run" if comparison.by is None else "slice"] for row in of_table]
        lines = [[name, *_difference(row)] for name, row in zip(names, of_table, strict=True)]
        yield table([title, *HEAD], lines, styles=["bold" if row["p_holm"] < SIGNIFICANT else "" for row in of_table])


def _difference(row: Row) -> list[str]:
    return [
        *_with_interval(row, "difference", "+"),
        percent(row["relative"], "+"),
        f"{row['wins']}/{row['ties']}/{row['losses']}",
        figure(row["d_z"], "+", digits=2),
        *(p_value(row[name]) for name in ("p_t", "p_sign_flip", "p_holm")),
    ]


def _with_interval(row: Row, name: str, sign: str = "") -> list[str]:
    return [figure(row[column], sign) for column in (name, f"{name}_low", f"{name}_high")]


def _footnote(comparison: Comparison) -> str:
    procedure, family = comparison.procedure, len(comparison.table)
    return (
        f"Low, high: {100 * procedure.level:.4g} % percentile bootstrap over users, {procedure.resamples:,} resamples. "
        f"p t: paired t-test; p flip: sign-flip randomisation, {procedure.draws:,} draws; both two-sided. "
        f"Holm: p flip adjusted for the family of {family:,} comparisons here. Win, tie, loss: users; d_z: Cohen's."
    )
