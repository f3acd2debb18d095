"""What ``python -m recx doctor`` prints: a line a finding, and under it, where there is one, what to think of it.

Lines are as wide as the table or at most 100 columns, whatever the terminal's width, so a pipe and a terminal get the
same words; colour is added on a terminal only.
"""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import wrap
from typing import TYPE_CHECKING

from rich.text import Text

from recx.doctor import Finding, Verdict

if TYPE_CHECKING:
    from rich.console import Console

STYLES: dict[Verdict, str] = {"fine": "green", "look": "yellow", "bad": "bold red"}
NAME, COUNT, SHARE, WIDEST = 30, 12, 9, 100
"""Columns of a finding's name, its count and its share, and of everything."""


def print_findings(console: Console, findings: Sequence[Finding], heading: str) -> None:
    """Print what was looked at, the table, and how many findings there are of each verdict."""
    console.print(Text(heading, style="bold"), soft_wrap=True)
    console.print(Text(f"{'':<{NAME}}{'count':>{COUNT}}{'share':>{SHARE}}  verdict", style="dim"), soft_wrap=True)
    for finding in findings:
        row = f"{finding.name.replace('_', ' '):<{NAME}}{_number(finding.count):>{COUNT}}{_share(finding):>{SHARE}}  "
        console.print(Text.assemble(row, (finding.verdict, STYLES[finding.verdict])), soft_wrap=True)
        for line in wrap(finding.why, WIDEST - 4):
            console.print(Text(f"    {line}", style="dim"), soft_wrap=True)
    verdicts = [finding.verdict for finding in findings]
    console.print(", ".join(f"{verdicts.count(verdict)} {verdict}" for verdict in STYLES), soft_wrap=True)


def _number(value: float) -> str:
    return f"{value:,.0f}" if value == round(value) or abs(value) >= 100 else f"{value:.3g}"


def _share(finding: Finding) -> str:
    """Return the share in percent; a share that would be rounded away is not nothing."""
    return "<0.1 %" if 0 < finding.share < 0.0005 else f"{finding.share:.1%}".replace("%", " %")
