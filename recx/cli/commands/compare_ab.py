"""``python -m recx compare --ab LOG``: compare the two arms of an online test from a log of impressions."""

from __future__ import annotations

from collections.abc import Sequence

from recx.cli.commands.parser import Parser, columns_of
from recx.core.exit_codes import DONE
from recx.core.system.screen import echo


def run(arguments: Sequence[str]) -> int:
    """Print what ``recx.ab`` returns as tables, JSON, CSV or an HTML page.

    Raises:
        InputError: The log or a setting cannot be used, or can be read in two ways.
    """
    settings = vars(parser().parse_args(arguments))
    form, log = settings.pop("form"), settings.pop("ab")
    settings["columns"], names = columns_of(settings["columns"]), settings["metrics"]
    settings["metrics"] = None if names is None else [name.strip() for name in names.split(",")]

    from recx.evaluation.ab.ab import ab

    found = ab(log, **settings)
    if form == "html":
        from recx.report.page.online_test import html_of

        echo(html_of(found))
        return DONE
    from recx.report.terminal.console import console_of_stdout
    from recx.report.terminal.print_ab import csv_of, json_of, print_ab

    if form == "json":
        echo(json_of(found))
    elif form == "csv":
        echo(csv_of(found), end="")
    else:
        print_ab(console_of_stdout(), found)
    return DONE


def parser() -> Parser:
    """Return the flags."""
    parser = Parser(prog="recx compare", description="Compare the two arms of an online test, user by user.")
    parser.add_argument("--ab", required=True, metavar="LOG", help="a log of what was shown and clicked")
    parser.add_argument("--columns", metavar="ROLE=COLUMN,…", help="other names, such as user=uid,arm=variant")
    parser.add_argument("--control", metavar="ARM", help="the control, where its name does not say so")
    parser.add_argument("--treatment", metavar="ARM", help="the other arm, of more than two")
    parser.add_argument("--metrics", metavar="A,B", help="of hit_rate, ctr, mrr (all)")
    parser.add_argument("--ratio", default="1:1", help="users of control and treatment as intended (%(default)s)")
    parser.add_argument(
        "--mde", metavar="EFFECT", help="the smallest effect that matters: 2%% of the control, or 0.002"
    )
    parser.add_argument("--power", type=float, default=0.8, help="power of MDE and of the next test (%(default)s)")
    drop = ("refuse", "drop")
    parser.add_argument("--both-arms", choices=drop, default=drop[0], help="users in both arms (%(default)s)")
    parser.add_argument("--missing-arm", choices=drop, default=drop[0], help="rows without an arm (%(default)s)")
    parser.add_argument("--clicks-not-shown", choices=drop, default=drop[0], help="clicks on others (%(default)s)")
    parser.add_argument("--clicked-as", choices=("items", "flags"), help="what lists of clicks hold, if unclear")
    parser.add_argument("--first-position", type=int, choices=(0, 1), help="the number of the first position (1)")
    parser.add_argument("--gaps", choices=("refuse", "keep"), default="refuse", help="positions left out (%(default)s)")
    parser.add_argument("--level", type=float, default=0.95, help="level of the intervals (%(default)s)")
    parser.add_argument("--resamples", type=int, default=10_000, help="resamples of the bootstrap (%(default)s)")
    parser.add_argument("--draws", type=int, default=10_000, help="permutations of the test (%(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="seed of resamples and permutations (%(default)s)")
    form = parser.add_mutually_exclusive_group()
    for name, what in (("json", "JSON"), ("csv", "the differences as CSV"), ("html", "an HTML page")):
        form.add_argument(f"--{name}", action="store_const", const=name, dest="form", help=f"print {what}")
    return parser
