"""A comparison for people (plain text, a page of HTML) and for programs (JSON).

One table a metric: first a line for every run with its mean, then a line for every run against the baseline.
"""

from __future__ import annotations

import json
import math
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from rich.text import Text

from recx.cautions import SIGNIFICANT
from recx.plain import plain

if TYPE_CHECKING:
    from rich.console import Console

    from recx.comparison import Comparison

WIDEST = 100
"""Columns of everything that is printed; the names of runs are cut to fit."""
SHORTEST_NAME = 6

Row = Mapping[str, Any]
Line = list[str]
Table = tuple[Line, list[Line]]
"""A head and lines of cells."""


def print_comparison(console: Console, comparison: Comparison) -> None:
    """Print what to be careful about, then a table a metric. Lines are never wrapped by the console."""
    for line in _text(comparison, min(console.width, WIDEST)):
        console.print(line, soft_wrap=True, highlight=False)


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


def html_of(comparison: Comparison) -> str:
    """Return one page that needs nothing else, light or dark as the reader's screen is."""
    cautions = "".join(f"<li>{escape(sentence)}</li>" for sentence in comparison.warnings)
    sections = "".join(
        f"<section><h2>{escape(metric)}</h2>"
        f"{_html_table(*_means(rows, comparison))}"
        f"{''.join(_html_table(*table) for table, _ in _against(rows, comparison))}</section>"
        for metric, rows in _by_metric(comparison)
    )
    return PAGE.format(
        title=escape(_title(comparison)),
        about="".join(f"<p>{escape(name)}: {escape(about)}</p>" for name, about in comparison.about.items()),
        cautions=f"<aside><h2>Read this first</h2><ul>{cautions}</ul></aside>" if cautions else "",
        sections=sections,
        footnote=escape(" ".join(_footnote(comparison))),
    )


def _text(comparison: Comparison, width: int) -> Iterator[Text]:
    yield from (Text(line, style="bold") for line in textwrap.wrap(_title(comparison), width))
    for name, about in comparison.about.items():
        yield Text(f"  {name}: {about}", style="dim")
    if comparison.warnings:
        yield Text()
        yield Text("read this first", style="bold yellow")
    for sentence in comparison.warnings:
        yield from map(Text, textwrap.wrap(sentence, width, initial_indent="  ", subsequent_indent="    "))
    for metric, rows in _by_metric(comparison):
        yield Text()
        yield Text(metric, style="bold cyan")
        yield from _grid(*_means(rows, comparison), width)
        for table, of in _against(rows, comparison):
            yield from _grid(*table, width, [row["p_holm"] < SIGNIFICANT for row in of])
    yield Text()
    for sentence in _footnote(comparison):
        yield from (Text(line, style="dim") for line in textwrap.wrap(sentence, width))


def _title(comparison: Comparison) -> str:
    return f"{', '.join(comparison.runs)} against {comparison.baseline}"


def _by_metric(comparison: Comparison) -> Iterator[tuple[str, list[Row]]]:
    for metric, rows in comparison.table.groupby("metric", sort=False):
        yield str(metric), rows.to_dict("records")


def _means(rows: Sequence[Row], comparison: Comparison) -> Table:
    """Return a line for every run of every slice; for the baseline one, unless its pairs differ from run to run."""
    lines: dict[tuple[str, ...], Line] = {}
    for row in rows:
        here = [other for other in rows if other["slice"] == row["slice"]]
        once = len({(other["users"], _number(other["mean_baseline"])) for other in here}) == 1
        name = row["baseline"] if once else f"{row['baseline']} (with {row['run']})"
        lines[row["slice"], "baseline", name] = _mean(row, "mean_baseline")
        lines[row["slice"], "run", row["run"]] = _mean(row, "mean_run")
    head = ["users", "mean", "low", "high"]
    order = {slice_: place for place, slice_ in enumerate(dict.fromkeys(row["slice"] for row in rows))}
    found = sorted(lines, key=lambda key: (order[key[0]], key[1]))
    if comparison.by is None:
        return ["run", *head], [[key[2], *lines[key]] for key in found]
    return ["run", comparison.by.replace("_", " "), *head], [[key[2], key[0], *lines[key]] for key in found]


def _mean(row: Row, side: str) -> Line:
    return [f"{row['users']:,}", *_with_interval(row, side)]


def _against(rows: Sequence[Row], comparison: Comparison) -> Iterator[tuple[Table, list[Row]]]:
    """Yield what runs are against the baseline: a line a run, or, with slices, a table a run with a line a slice."""
    head = ["mean", "low", "high", "relative", "win/tie/loss", "d_z", "p t", "p flip", "Holm"]
    if comparison.by is None:
        yield (["difference", *head], [[row["run"], *_difference(row)] for row in rows]), list(rows)
        return
    for run in comparison.runs:
        here = [row for row in rows if row["run"] == run]
        yield ([run, *head], [[row["slice"], *_difference(row)] for row in here]), here


def _difference(row: Row) -> Line:
    return [
        *_with_interval(row, "difference", "+"),
        f"{100 * row['relative']:+z.1f} %" if math.isfinite(row["relative"]) else "-",
        f"{row['wins']}/{row['ties']}/{row['losses']}",
        _number(row["d_z"], "+", digits=2),
        *(_p(row[name]) for name in ("p_t", "p_sign_flip", "p_holm")),
    ]


def _footnote(comparison: Comparison) -> list[str]:
    procedure, family = comparison.procedure, len(comparison.table)
    return [
        f"Low, high: {100 * procedure.level:.4g} % percentile bootstrap over users, {procedure.resamples:,} resamples.",
        f"p t: paired t-test; p flip: sign-flip randomisation, {procedure.draws:,} draws; both two-sided.",
        f"Holm: p flip adjusted for the family of {family:,} comparisons here. Win, tie, loss: users; d_z: Cohen's.",
    ]


def _grid(head: Sequence[str], lines: Sequence[Line], width: int, strong: Sequence[bool] = ()) -> Iterator[Text]:
    """Yield a table of text: names on the left, cut to fit the width, figures on the right."""
    sizes = [max(map(len, column)) for column in zip(head, *lines, strict=True)]
    room = width - 2 - sum(size + 2 for size in sizes[1:])
    sizes[0] = max(SHORTEST_NAME, min(sizes[0], room))
    for place, cells in enumerate([head, *lines]):
        name = cells[0] if len(cells[0]) <= sizes[0] else f"…{cells[0][1 - sizes[0] :]}"
        figures = "".join(f"  {cell:>{size}}" for cell, size in zip(cells[1:], sizes[1:], strict=True))
        style = "dim" if not place else "bold" if strong and strong[place - 1] else ""
        yield Text(f"  {name:<{sizes[0]}}{figures}", style=style)


def _html_table(head: Sequence[str], lines: Sequence[Line]) -> str:
    def row(cells: Sequence[str], tag: str) -> str:
        return "<tr>" + "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in cells) + "</tr>"

    body = "".join(row(cells, "td") for cells in lines)
    return f"<table><thead>{row(head, 'th')}</thead><tbody>{body}</tbody></table>"


def _number(value: float, sign: str = "", digits: int = 4) -> str:
    return f"{value:{sign}z.{digits}f}" if math.isfinite(value) else "-" if math.isnan(value) else f"{value:{sign}}"


def _with_interval(row: Row, name: str, sign: str = "") -> Line:
    return [_number(row[column], sign) for column in (name, f"{name}_low", f"{name}_high")]


def _p(value: float) -> str:
    return "-" if math.isnan(value) else "<.0001" if value < 0.0001 else f"{value:.4f}"


PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
:root {{ color-scheme: light dark; --ink: #1d2330; --paper: #fff; --line: #d9dde5; --soft: #667085; --care: #fff6dd; }}
@media (prefers-color-scheme: dark) {{
  :root {{ --ink: #e6e9ef; --paper: #14171d; --line: #333a46; --soft: #98a2b3; --care: #3a3118; }}
}}
body {{ font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); max-width: 72rem;
  margin: 2rem auto; padding: 0 1rem; overflow-wrap: anywhere; }}
h1 {{ font-size: 1.4rem; }}
h2 {{ font-size: 1.1rem; margin: 1.5rem 0 .5rem; }}
aside {{ background: var(--care); border-radius: .5rem; padding: .1rem 1rem .5rem; }}
aside h2 {{ margin-top: .7rem; }}
section {{ overflow-x: auto; }}
table {{ border-collapse: collapse; margin-bottom: .8rem; font-variant-numeric: tabular-nums; }}
th, td {{ text-align: right; padding: .25rem .7rem; border-bottom: 1px solid var(--line); white-space: nowrap; }}
th:first-child, td:first-child {{ text-align: left; }}
th, footer {{ color: var(--soft); font-weight: normal; }}
footer {{ margin: 2rem 0; }}
</style>
</head>
<body>
<h1>{title}</h1>
{about}
{cautions}
{sections}
<footer>{footnote}</footer>
</body>
</html>"""
