"""What ``python -m recx doctor`` prints: a row per finding, and below the table the reasons of the notable ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.text import Text

from recx.experiment.doctor import Finding, Verdict
from recx.report.terminal.formats import count, percent, words
from recx.report.terminal.text_table import bullets, show, table

if TYPE_CHECKING:
    from rich.console import Console

STYLES: dict[Verdict, str] = {"fine": "green", "look": "yellow", "bad": "bold red"}


def print_findings(console: Console, findings: Sequence[Finding], heading: str) -> None:
    """Print what was examined, the table, the reasons, and the number of findings of each verdict."""
    rows = [
        (words(one.name), count(one.count), percent(one.share), Text(one.verdict, STYLES[one.verdict]))
        for one in findings
    ]
    reasons = bullets(f"{words(finding.name)}: {finding.why}" for finding in findings if finding.why)
    verdicts = [finding.verdict for finding in findings]
    totals = ", ".join(f"{verdicts.count(verdict)} {verdict}" for verdict in STYLES)
    found = table(["", "count", "share", "verdict"], rows, left=(0, 3), indent=False)
    show(console, [Text(heading, "bold"), found, *reasons, totals])
