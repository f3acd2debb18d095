"""Renders a page as one self-contained HTML file: styles and script are inline, and it requests nothing."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recx.core.nouns import Nouns
from recx.report.terminal.formats import QUESTIONS, count, figure, p_value, percent, significant, words

if TYPE_CHECKING:
    from jinja2 import Environment

    from recx.report.charts.svg import Chart

Row = Mapping[str, Any]
HERE = Path(__file__).parent
TEMPLATES = HERE / "template"
ICON = (
    "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E"
    "%3Cpath d='M2 13V9h3v4zm4.5 0V6h3v7zM11 13V3h3v10z' fill='%234269d0'/%3E%3C/svg%3E"
)
"""Embedded, since a browser would request one from the server."""


def render(page: Mapping[str, Any], template: str = "run.html.jinja") -> str:
    """Return a page as HTML.

    Args:
        page: Its data, see ``contents.contents``, as computed or as read from ``report.json``.
        template: A template in the folder next to this module.
    """
    return _environment().get_template(template).render(page=page, **_assets())


@cache
def _environment() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    from recx.report.charts import charts, figures
    from recx.report.page.section_figures import pivot

    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        optimized=False,  # each template is used once, which takes less time than folding its constants
    )
    environment.filters |= {"figure": figure, "count": count, "percent": percent, "words": words, "p": p_value}
    environment.filters |= {"significant": significant, "short": short, "cached": cached, "moment": moment}
    environment.filters |= {"bare": bare, "cut_name": cut_name, "numeric": lambda name: (name, True)}
    environment.filters |= {"said": lambda text, nouns: Nouns(**nouns).say(str(text))}
    environment.globals |= {"charts": charts, "questions": QUESTIONS, "icon": ICON, "strongest": figures.strongest}
    environment.globals |= {"curve_charts": figures.curve_charts}
    environment.globals |= {"pivot": pivot, "enumerate": enumerate, "chart_of": _chart_of, "headed": _headed}
    return environment


@cache
def _assets() -> dict[str, Any]:
    """Return style, script and the content security policy that allows these two only and no request."""
    from markupsafe import Markup

    names = ("../charts/colours.css", "page.css", "page.js")
    colours, rules, script = ((HERE / name).read_text(encoding="utf-8") for name in names)
    style = colours + rules
    policy = (
        f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    return {"style": Markup(style), "script": Markup(script), "policy": policy}  # without anything from the data


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def short(metric: str) -> str:
    """Return a metric's name without its stage and with spaces."""
    return words(metric.rpartition("/")[2])


def bare(chart: Chart) -> Chart:
    """Return a chart without the table of its numbers, which the page shows in another one."""
    return replace(chart, numbers="")


def cut_name(k: int | None) -> str:
    """Return the heading of a column of figures: of a cut, or None where nothing is cut."""
    return "uncut" if k is None else f"at {k}"


def moment(text: str) -> str:
    """Return an ISO timestamp in UTC in readable form."""
    return text.replace("T", " ").replace("+00:00", " UTC")


def cached(stage: Row) -> str:
    """Return how many passes of a stage came from the cache."""
    hits, passes = stage["cached"], stage["passes"]
    return "–" if hits is None else "no" if not hits else "yes" if hits >= passes else f"{hits} of {passes}"


def _chart_of(name: str, rows: Sequence[Row]) -> Chart | None:
    """Return the chart of a table, None if it is shown as a table."""
    from recx.report.charts.figures import chart_of

    return chart_of(name, {column: [row[column] for row in rows] for column in rows[0]})


def _headed(rows: Sequence[Row]) -> list[tuple[str, bool]]:
    """Return the names of a table's columns, and whether they contain numbers."""
    return [(words(name), not isinstance(value, str)) for name, value in rows[0].items()]
