"""``python -m recx clicks LOG``: estimate from a log of clicks what items are worth."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from recx.cli.commands.parser import Parser, columns_of
from recx.core.errors import InputError
from recx.core.exit_codes import DONE
from recx.core.system.screen import echo

ENDINGS = (".csv", ".parquet")


def run(arguments: Sequence[str]) -> int:
    """Print what ``recx.clicks.fit`` estimates; ``--output`` writes a row for each item, or each query and item.

    Raises:
        InputError: The log or a setting cannot be used.
    """
    settings = vars(parser().parse_args(arguments))
    output, settings["columns"] = settings.pop("output"), columns_of(settings["columns"])
    if output is not None and output.suffix not in ENDINGS:
        raise InputError(f"--output {output}: its name must end in {' or '.join(ENDINGS)}")

    from recx.core.system.atomic import replacing
    from recx.evaluation.clicks.fit import fit

    found = fit(settings.pop("log"), **settings)
    echo(str(found))
    if output is not None:
        with replacing(output) as temporary:
            if output.suffix == ".csv":
                found.items.to_csv(temporary, index=False)
            else:
                found.items.to_parquet(temporary, index=False)
    return DONE


def parser() -> Parser:
    """Return the flags."""
    parser = Parser(prog="recx clicks", description="Estimate how attractive items are, apart from their positions.")
    parser.add_argument("log", help="a row an impression: list, item, position from 1, clicked 0 or 1; perhaps query")
    parser.add_argument(
        "--model", choices=("cascade", "sdbn", "dbn"), default="dbn", help="how users read (%(default)s)"
    )
    parser.add_argument("--columns", metavar="ROLE=COLUMN,…", help="other names, such as list=session,position=rank")
    parser.add_argument(
        "--continuation", type=float, help="a known chance to read on (dbn); by default it is estimated"
    )
    parser.add_argument(
        "--smoothing", type=float, default=1.0, help="clicks, and others, added to those counted (%(default)s)"
    )
    parser.add_argument("--output", metavar="FILE", type=Path, help="write the table: .csv or .parquet")
    return parser
