"""``python -m recx evaluate LISTS TRUTH``: evaluate lists from files, without an experiment."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from recx.cli.commands.parser import Parser, columns_of
from recx.core.errors import InputError
from recx.core.exit_codes import DONE
from recx.core.system.screen import echo

DEFAULT_METRICS = ("hit", "recall", "precision", "ndcg", "map", "mrr")


def run(arguments: Sequence[str]) -> int:
    """Print every metric with its 95 % interval over users, and the counts of the data; ``--json`` prints JSON.

    Raises:
        InputError: A file, a metric or a setting cannot be used.
    """
    settings = vars(parser().parse_args(arguments))
    print_json, metrics = settings.pop("json"), _metrics(settings.pop("metrics"), settings.pop("k"))
    settings["columns"], by = columns_of(settings["columns"]), settings.pop("by")
    if by is not None:
        _print_systems(metrics, by, print_json, settings)
        return DONE

    from recx.evaluation.evaluate import evaluate
    from recx.report.terminal.console import console_of_stdout
    from recx.report.terminal.print_evaluation import as_json, print_evaluation

    evaluation = evaluate(settings.pop("recommendations"), settings.pop("relevance"), metrics, **settings)
    if print_json:
        echo(as_json(evaluation))
    else:
        print_evaluation(console_of_stdout(), evaluation)
    return DONE


def parser() -> Parser:
    """Return the flags."""
    defaults = ",".join(DEFAULT_METRICS)
    parser = Parser(prog="recx evaluate", description="Evaluate lists from files: CSV, TSV, Parquet, TREC.")
    parser.add_argument("recommendations", help="columns user, item and score or rank; or a TREC run")
    parser.add_argument("relevance", help="columns user, item and, if graded, grade; or TREC qrels")
    parser.add_argument("--metrics", help=f"comma-separated names, see `recx list metric` ({defaults})")
    parser.add_argument(
        "--k", help="comma-separated cuts, for metrics named without one (5,10 for the default metrics)"
    )
    orders = ("auto", "score", "rank", "given")
    parser.add_argument(
        "--order", choices=orders, default="auto", help="how lists are ordered (auto: score, then rank)"
    )
    parser.add_argument("--on-duplicates", choices=("error", "first"), default="error", help="an item twice in a list")
    parser.add_argument("--rel-threshold", type=float, default=1.0, help="lowest grade of a relevant target")
    parser.add_argument("--max-grade", type=float, help="highest possible grade, for err and cascade")
    parser.add_argument("--threshold", type=float, default=0.5, help="lowest score of a row that is predicted positive")
    parser.add_argument("--history", help="columns user and item: what was known before")
    parser.add_argument("--items", help="columns item, category and is_abstain: more of the catalogue")
    parser.add_argument("--columns", metavar="ROLE=COLUMN,…", help="other names, such as user=uid,item=sku,score=pred")
    parser.add_argument("--by", metavar="COLUMN", help="the column of the system, whose lists are compared")
    parser.add_argument("--json", action="store_true", help="print JSON")
    return parser


def _print_systems(metrics: Sequence[str], by: str, print_json: bool, settings: dict[str, Any]) -> None:
    """Print every metric of each system, and the tests of the others against the first."""
    from recx.evaluation.compare import compare
    from recx.evaluation.systems import evaluate_systems
    from recx.report.terminal.console import console_of_stdout
    from recx.report.terminal.print_comparison import json_of, print_comparison

    tables = settings.pop("recommendations"), settings.pop("relevance")
    found = evaluate_systems(*tables, metrics, by=by, **settings)
    if len(found) < 2:
        raise InputError(f"--by {by}: all lists are of {next(iter(found))}: leave it out")
    comparison = compare(*found.values())
    if print_json:
        echo(json_of(comparison))
    else:
        print_comparison(console_of_stdout(), comparison)


def _metrics(names: str | None, cuts: str | None) -> list[str]:
    """Return full names of metrics: one without a cut is taken at every cut of ``--k``, or uncut without it."""
    from recx.evaluation.metrics.registry import UNCUT

    if names is None:
        names, cuts = ",".join(DEFAULT_METRICS), cuts or "5,10"
    chosen: list[str] = []
    for name in filter(None, (name.strip() for name in names.split(","))):
        complete = "_at_" in name or "@" in name or name in UNCUT or name.startswith("top_")
        chosen += [name] if complete or cuts is None else [f"{name}_at_{k.strip()}" for k in cuts.split(",")]
    if not chosen:
        raise InputError("--metrics names no metric: give some, such as --metrics ndcg,recall")
    return list(dict.fromkeys(chosen))
