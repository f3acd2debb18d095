"""What ``python -m recx evaluate`` prints: a line a metric with its interval, then what was counted."""

from __future__ import annotations

import json

from recx.evaluation import Evaluation
from recx.plain import plain


def print_evaluation(evaluation: Evaluation) -> None:
    """Print the means, their 95 % intervals and the counts, in plain columns."""
    intervals = evaluation.intervals()
    names = list(evaluation.means)
    width = max(len(name) for name in [*names, *evaluation.notes, "metric"])
    print(f"{'metric':<{width}}  {'value':>12}  95 % interval over {len(evaluation.users):,} users")
    for name in names:
        interval = "{:.4f} to {:.4f}".format(*intervals[name]) if name in intervals else "one number for all"
        print(f"{name:<{width}}  {_number(evaluation.means[name]):>12}  {interval}")
    print("\ncounts that are not zero")
    for name, count in evaluation.notes.items():
        if count:
            print(f"{name:<{width}}  {_count(count):>12}")


def as_json(evaluation: Evaluation) -> str:
    """Return means, intervals, counts and rules as JSON; a number that does not exist is null."""
    told = {
        "means": evaluation.means,
        "intervals": evaluation.intervals(),
        "notes": evaluation.notes,
        "protocol": evaluation.protocol,
    }
    return json.dumps(plain(told), indent=2, ensure_ascii=False)


def _number(value: float) -> str:
    return "-" if value != value else f"{value:.4f}" if abs(value) < 1000 else f"{value:,.0f}"


def _count(value: float) -> str:
    return f"{value:,.0f}" if value == round(value) else f"{value:.4f}"
