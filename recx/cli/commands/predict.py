"""``python -m recx predict RUN``: the best items of users by the model of a run, as a file or on the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from recx.cli.commands.parser import RUN, URI, Parser
from recx.core.errors import InputError
from recx.core.exit_codes import DONE

SHOWN = 10
"""Users whose lists are printed where no file is written."""


def run(arguments: Sequence[str]) -> int:
    """Write or print the recommendations of a run's model; fits nothing.

    Raises:
        InputError: The run has no model, its data is needed and missing, or a file or an argument cannot be used.
        OSError: The disk is full, or something else is wrong with it.
    """
    chosen = parser().parse_args(arguments)
    if chosen.k < 1:
        raise InputError(f"--k {chosen.k}: it must be a whole number from 1 up")
    if chosen.force and chosen.output is None:
        raise InputError("--force replaces the file of --output: name one, or leave it out")

    from recx.core.system.threads import limited_to
    from recx.jobs.predict.output import check_output

    if chosen.output is not None:
        check_output(chosen.output, force=chosen.force)
        _refuse_same(chosen.output, chosen.users, chosen.history, chosen.items)

    from recx.experiment.model.found import model_of
    from recx.experiment.model.model import Model
    from recx.report.terminal.console import console_of_stdout

    model = Model.of(model_of(chosen.run, uri=chosen.uri))
    with limited_to((model.kept.config.get("runtime") or {}).get("threads")):
        from recx.core.progress import shown_on
        from recx.jobs.predict import predict
        from recx.report.terminal import print_predictions

        wanted = (chosen.users, chosen.user or (), chosen.history, chosen.items, chosen.at, chosen.k)
        console = console_of_stdout()
        with shown_on(console):
            asked = predict.asked_of(model, predict.Wanted(*wanted))
            if chosen.output is not None:
                made = predict.write(asked, chosen.k, chosen.output)
                print_predictions.print_made(console, made.users, made.rows, made.counts, chosen.output)
                return DONE
            rows = predict.first_rows(asked, chosen.k, SHOWN)
        print_predictions.print_rows(console, rows, min(SHOWN, len(asked.ids)), len(asked.ids))
    return DONE


def parser() -> Parser:
    """Return the flags."""
    parser = Parser(prog="recx predict", description="Recommend items to users with the model of a run.")
    parser.add_argument("run", metavar="RUN", help=RUN)
    who = parser.add_mutually_exclusive_group()
    who.add_argument("--users", type=Path, metavar="FILE", help="one id per line, or a table with a column user")
    who.add_argument("--user", action="append", metavar="ID", help="a user; repeatable (all who have an event)")
    parser.add_argument("--history", type=Path, metavar="FILE", help="events that their users have instead of others")
    parser.add_argument("--items", type=Path, metavar="FILE", help="the items that may be shown (all)")
    parser.add_argument("--at", metavar="TIME", help="only events before it are known: a date, or a time of the data")
    parser.add_argument("--k", type=int, default=10, metavar="N", help="the length of the lists (%(default)s)")
    parser.add_argument("--output", type=Path, metavar="FILE", help="a .parquet, .csv or .jsonl (.gz) file")
    parser.add_argument("--force", action="store_true", help="replace the file of --output, whatever it is")
    parser.add_argument("--uri", help=URI)
    return parser


def _refuse_same(output: Path, *read: Path | None) -> None:
    for path in read:
        if path is not None and path.exists() and output.exists() and path.samefile(output):
            raise InputError(f"--output {output}: it is the file that {path} is read from: choose another name")
