"""The page of an online test."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from recx.core.system.serialize import plain
from recx.report.page.render import render
from recx.report.terminal.print_ab import digits_of, sample_ratio, users_of

if TYPE_CHECKING:
    from recx.evaluation.ab.outcome import ABTest


def html_of(found: ABTest) -> str:
    """Return the page: cautions, conclusion, the figures of both arms, their differences, and the next test."""
    rows = [{**row, "digits": digits_of(row)} for row in found.table.to_dict("records")]
    needed = [
        {**row, **{name: users_of(row[name]) for name in ("users_control", "users_treatment")}}
        for row in found.power.to_dict("records")
    ]
    page: dict[str, Any] = {
        "title": f"{found.treatment} against {found.control}",
        "when": datetime.now(UTC).isoformat(timespec="seconds"),
        "control": found.control,
        "treatment": found.treatment,
        "warnings": found.warnings,
        "conclusion": [*found.verdicts, sample_ratio(found)],
        "arms": found.arms.to_dict("records"),
        "rows": rows,
        "needed": needed,
        "level": found.procedure.level,
        "about": [f"{sentence}." for sentence in found.about],
    }
    return render(plain(page), "online_test.html.jinja")
