"""``python -m recx evaluate LISTS TRUTH``: judge lists from files, without an experiment."""

from __future__ import annotations

from collections.abc import Sequence

from recx.cli.commands.parser import Parser
from recx.core.errors import InputError

FIGURES = ("hit", "recall", "precision", "ndcg", "map", "mrr")


def run(arguments: Sequence[str]) -> int:
    """Print every metric with its 95 % interval over users, and what was counted; ``--json`` prints JSON.

    Raises:
        InputError: a file, a metric or a setting cannot be used.
    """
    parser = Parser(prog="recx evaluate", description="Judge lists by the truth: CSV, TSV, Parquet or TREC files.")
    parser.add_argument("recommendations", help="columns user, item and score or rank; or a TREC run")
    parser.add_argument("relevance", help="columns user, item and, if graded, grade; or TREC qrels")
    parser.add_argument("--metrics", help=f"names with commas between, see `recx list metric` ({','.join(FIGURES)})")
    parser.add_argument("--k", help="cuts with commas between, for metrics named without one (5,10 if none is named)")
    parser.add_argument("--order", choices=("score", "given"), default="score", help="what the order of a list is")
    parser.add_argument("--on-duplicates", choices=("error", "first"), default="error", help="an item twice in a list")
    parser.add_argument("--rel-threshold", type=float, default=1.0, help="the grade from which a target is relevant")
    parser.add_argument("--max-grade", type=float, default=None, help="the highest grade there can be: err, cascade")
    parser.add_argument("--threshold", type=float, default=0.5, help="the score from which a row is predicted a target")
    parser.add_argument("--history", default=None, help="columns user and item: what was known before")
    parser.add_argument("--items", default=None, help="columns item and category: more of the catalogue")
    parser.add_argument("--json", action="store_true", help="print JSON")
    chosen = parser.parse_args(arguments)

    from recx.evaluation.evaluate import evaluate
    from recx.report.terminal.console import console_of_stdout
    from recx.report.terminal.print_evaluation import as_json, print_evaluation

    evaluation = evaluate(
        chosen.recommendations,
        chosen.relevance,
        _metrics(chosen.metrics, chosen.k),
        order=chosen.order,
        on_duplicates=chosen.on_duplicates,
        rel_threshold=chosen.rel_threshold,
        max_grade=chosen.max_grade,
        threshold=chosen.threshold,
        history=chosen.history,
        items=chosen.items,
    )
    if chosen.json:
        print(as_json(evaluation))
    else:
        print_evaluation(console_of_stdout(), evaluation)
    return 0


def _metrics(names: str | None, cuts: str | None) -> list[str]:
    """Return the metrics asked for: one named without a cut is taken at every cut of ``--k``, or uncut without it."""
    from recx.evaluation.metrics.registry import UNCUT

    if names is None:
        names, cuts = ",".join(FIGURES), cuts or "5,10"
    chosen: list[str] = []
    for name in filter(None, (name.strip() for name in names.split(","))):
        whole = "_at_" in name or name in UNCUT or name.startswith("top_")
        chosen += [name] if whole or cuts is None else [f"{name}_at_{k.strip()}" for k in cuts.split(",")]
    if not chosen:
        raise InputError("--metrics names no metric: give some, such as --metrics ndcg,recall")
    return list(dict.fromkeys(chosen))
