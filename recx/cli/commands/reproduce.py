"""``python -m recx reproduce NAME data=DIR``: run a published protocol and compare its figures; ``list`` shows all."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from contextlib import nullcontext, redirect_stdout

from recx.cli.commands.parser import Parser
from recx.core.errors import InputError
from recx.core.exit_codes import DONE, FAILED
from recx.core.system.screen import echo

LIST = "list"


def run(arguments: Sequence[str]) -> int:
    """Reproduce published figures, or list what can be reproduced.

    Returns:
        ``FAILED`` if a measured figure differs from the expected one, else ``DONE``.

    Raises:
        InputError: There is no such reproduction, or its data is not there or is other data.
    """
    chosen = parser().parse_intermixed_args(arguments)

    from recx.core.system.serialize import plain
    from recx.jobs.reproduce.output import print_list, print_reproduced
    from recx.jobs.reproduce.run import known, reproduce
    from recx.report.terminal.console import console_of_stdout

    if chosen.name == LIST:
        if chosen.words:
            raise InputError(f"recx reproduce: {chosen.words[0]}: a list takes no words: give the NAME of one before")
        found = known()
        if chosen.json:
            echo(json.dumps(plain([one.as_dict() for one in found]), indent=2))
        else:
            print_list(console_of_stdout(), found)
        return DONE
    with redirect_stdout(sys.stderr) if chosen.json else nullcontext():  # stdout is for the JSON alone
        one = reproduce(chosen.name, *chosen.words)
    if chosen.json:
        echo(json.dumps(plain(one.as_dict()), indent=2))
    else:
        print_reproduced(console_of_stdout(), one)
    return FAILED if any(row.verdict == "differs" for row in one.rows) else DONE


def parser() -> Parser:
    """Return the flags."""
    parser = Parser(prog="recx reproduce", description="Run a published protocol, and compare its figures with ours.")
    parser.add_argument("name", nargs="?", default=LIST, metavar="NAME", help="a reproduction; list (the default): all")
    parser.add_argument(
        "words",
        nargs="*",
        metavar="KEY=VALUE",
        help="data=DIR with its files, or dataset.path=FILE; jobs=N runs at a time; chains=A,B, worlds=A,B: only these",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    return parser
