"""An online test for people, as tables of text, and for programs, as JSON and CSV."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from rich.text import Text

from recx.core.system.serialize import plain
from recx.report.terminal.formats import count, figure, p_value, percent, significant
from recx.report.terminal.text_table import bullets, section, show, table

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.table import Table

    from recx.evaluation.ab.outcome import ABTest

Row = Mapping[str, Any]


def print_ab(console: Console, found: ABTest) -> None:
    """Print the warnings, the arms, their differences and the size of the next test."""
    show(console, _parts(found))


def json_of(found: ABTest) -> str:
    """Return everything as JSON: ``rows`` contains the table; an undefined or infinite number is null."""
    ratio, procedure = found.sample_ratio, found.procedure
    document = {
        **{name: getattr(found, name) for name in ("control", "treatment", "warnings", "verdicts", "notes")},
        "sample_ratio": {
            **{name: getattr(ratio, name) for name in ("users", "expected", "chi_square", "p", "mismatch")},
        },
        **{name: getattr(procedure, name) for name in ("level", "resamples", "draws", "seed")},
        "power": found.power_level,
        **{name: frame.to_dict("records") for name, frame in (("arms", found.arms), ("rows", found.table))},
        "next_test": found.power.to_dict("records"),
        "about": found.about,
    }
    return json.dumps(plain(document), indent=2)


def csv_of(found: ABTest) -> str:
    """Return the table as CSV, with all digits."""
    return str(found.table.to_csv(index=False))


def _parts(found: ABTest) -> Iterator[RenderableType]:
    yield Text(f"{found.treatment} against {found.control}", "bold")
    yield from section("read this first", bullets(found.warnings), "bold yellow")
    yield from section("users", [_arms(found), *bullets([sample_ratio(found)])], "bold cyan")
    rows: list[Row] = found.table.to_dict("records")
    yield from section("differences", [_values(found, rows), _differences(rows), *bullets(found.verdicts)], "bold cyan")
    yield from section("the next test", [_next(found)], "bold cyan")
    yield ""
    yield Text(f"{'. '.join(found.about)}.", "dim")


def sample_ratio(found: ABTest) -> str:
    """Return the check of the numbers of users as a sentence."""
    ratio = found.sample_ratio
    says = "not as intended" if ratio.mismatch else "as intended"
    return f"sample ratio: {says} (chi-square {ratio.chi_square:.2f}, p {p_value(ratio.p)})"


def digits_of(row: Row) -> int:
    """Return the decimals of a metric: its standard error has two digits that are not 0, and no fewer than four."""
    error = row["se_delta"]
    return 4 if not error > 0 else min(10, max(4, 1 - math.floor(math.log10(error))))


def _arms(found: ABTest) -> Table:
    names = ("users", "lists", "lists_with_click", "shown", "clicks")
    lines = [[str(row["arm"]), *(count(row[name]) for name in names)] for row in found.arms.to_dict("records")]
    return table(["arm", "users", "lists", "with a click", "items shown", "clicks"], lines)


def _values(found: ABTest, rows: list[Row]) -> Table:
    """Return a row for each metric and arm."""
    lines = [
        [row["metric"] if side == "control" else "", arm, *(figure(row[end], "", digits_of(row)) for end in ends(side))]
        for row in rows
        for side, arm in (("control", found.control), ("treatment", found.treatment))
    ]
    return table(["metric", "arm", "value", "low", "high"], lines, left=(0, 1))


def _differences(rows: list[Row]) -> Table:
    lines = [
        [
            row["metric"],
            *(figure(row[end], "+", digits_of(row)) for end in ends("difference")),
            *(percent(row[end], "+") for end in ends("relative")),
            *(figure(row[name], digits=digits_of(row)) for name in ("se_bootstrap", "se_delta")),
            *(p_value(row[name]) for name in ("p", "p_holm")),
        ]
        for row in rows
    ]
    head = ["difference", "mean", "low", "high", "relative", "low", "high", "se", "delta", "p", "Holm"]
    return table(head, lines, styles=["bold" if row["higher"] else "" for row in rows])


def ends(name: str) -> tuple[str, str, str]:
    """Return the columns of a figure and of the ends of its interval."""
    return name, f"{name}_low", f"{name}_high"


def _next(found: ABTest) -> Table:
    """Return what this test could detect, and how many users others need, a row for each metric and effect."""
    of_metric = {row["metric"]: row for row in found.table.to_dict("records")}
    lines = []
    for row in found.power.to_dict("records"):
        known = of_metric[row["metric"]]
        observed = row["effect_of"] == "observed"
        detected = f"{significant(known['mde'])} ({percent(known['mde_relative'])})"
        effect = f"{'observed' if observed else 'wanted'} {significant(row['effect'])} ({percent(row['relative'])})"
        needed = (users_of(row[name]) for name in ("users_control", "users_treatment"))
        lines.append([row["metric"] if observed else "", detected if observed else "", effect, *needed])
    head = ["metric", "MDE of this test", "effect", f"users in {found.control}", f"users in {found.treatment}"]
    return table(head, lines, left=(0,), folding=(0,))


def users_of(needed: float) -> str:
    """Return a number of users; infinite: no number is enough."""
    return "never" if needed == math.inf else count(needed)
