"""What ``python -m recx evaluate`` prints: a line a metric with its interval, then what was counted."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from recx.core.evaluation import Evaluation
from recx.core.system.serialize import plain
from recx.report.terminal.formats import count, figure
from recx.report.terminal.text_table import show, table

if TYPE_CHECKING:
    from rich.console import Console


def print_evaluation(console: Console, evaluation: Evaluation) -> None:
    """Print the means, their 95 % intervals and the counts."""
    ends = {name: f"{low:.4f} to {high:.4f}" for name, (low, high) in evaluation.intervals().items()}
    rows = [(name, figure(mean), ends.get(name, "one number for all")) for name, mean in evaluation.means.items()]
    head = ["metric", "value", f"95 % interval over {len(evaluation.users):,} users"]
    counts = [(name, count(value)) for name, value in evaluation.notes.items() if value]
    show(console, [table(head, rows, left=(0, 2), indent=False)])
    if counts:
        show(console, ["", table(["not zero", "count"], counts, indent=False)])


def as_json(evaluation: Evaluation) -> str:
    """Return means, intervals, counts and rules as JSON; a number that does not exist is null."""
    told = {
        "means": evaluation.means,
        "intervals": evaluation.intervals(),
        "notes": evaluation.notes,
        "protocol": evaluation.protocol,
    }
    return json.dumps(plain(told), indent=2, ensure_ascii=False)
