"""What ``python -m recx evaluate`` prints: a row per metric with its interval, then the counts."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from recx.core.evaluation import Evaluation
from recx.core.system.serialize import plain
from recx.report.terminal.formats import count, figure
from recx.report.terminal.text_table import bullets, section, show, table

if TYPE_CHECKING:
    from rich.console import Console


def print_evaluation(console: Console, evaluation: Evaluation) -> None:
    """Print the means, their 95 % intervals, what these cannot say, and the counts."""
    ends = {name: f"{figure(low)} to {figure(high)}" for name, (low, high) in evaluation.intervals().items()}
    rows = [(name, figure(mean), ends.get(name, "one value for all users")) for name, mean in evaluation.means.items()]
    head = ["metric", "value", f"95 % interval over {len(evaluation.users):,} users"]
    counts = [(name, count(value)) for name, value in evaluation.notes.items() if value]
    show(console, [table(head, rows, left=(0, 2), indent=False)])
    show(console, section("read this first", bullets(evaluation.warnings), "bold yellow"))
    if counts:
        show(console, ["", table(["not zero", "count"], counts, indent=False)])


def as_json(evaluation: Evaluation) -> str:
    """Return means, intervals, warnings, counts and rules as JSON; an undefined number is null."""
    document = {name: getattr(evaluation, name) for name in ("means", "warnings", "notes", "protocol")}
    return json.dumps(plain({**document, "intervals": evaluation.intervals()}), indent=2)
