"""``python -m recx explain RUN user=ID``: explain what a run showed a user; ``--worst N``: list the worst served."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict

from recx.cli.commands.parser import RUN, URI, Parser
from recx.core.errors import InputError
from recx.core.exit_codes import DONE
from recx.core.system.screen import echo


def run(arguments: Sequence[str]) -> int:
    """Explain one user of a finished run, or list the users whom its ranker served worst; fits nothing.

    Raises:
        InputError: The run or the user does not exist, or the run's data has changed.
    """
    chosen = parser().parse_intermixed_args(arguments)
    if (chosen.worst is not None and chosen.worst < 1) or chosen.top < 0:
        raise InputError(f"recx explain: --worst must be 1 or more, --top 0 or more, got {chosen.worst}, {chosen.top}")
    if (chosen.user is None) == (chosen.worst is None):
        raise InputError("recx explain: give either a user, as in user=17, or --worst with a number, as in --worst 20")
    user = (chosen.user or "").removeprefix("user=")
    if chosen.user is not None and (not user or user == chosen.user):
        raise InputError(f"recx explain: {chosen.user!r} does not name a user: write it like user=17")

    from recx.core.system.threads import limited_to
    from recx.experiment import saved_runs
    from recx.report.terminal.console import console_of_stdout

    saved = saved_runs.load(chosen.run, uri=chosen.uri)
    with limited_to(saved.threads):
        from recx.core.system.serialize import plain
        from recx.experiment.explain import Reopened
        from recx.report.terminal.print_explanation import print_explanation, print_worst

        reopened = Reopened.of(saved)
        if not user:
            worst = reopened.worst(chosen.worst)
            echo(json.dumps(plain(worst), indent=2)) if chosen.json else print_worst(console_of_stdout(), worst)
            return DONE
        explanation = reopened.explain(user)
        if chosen.json:
            echo(json.dumps(plain(asdict(explanation)), indent=2))
        else:
            print_explanation(console_of_stdout(), explanation, chosen.top)
    return DONE


def parser() -> Parser:
    """Return the flags."""
    parser = Parser(prog="recx explain", description="Explain what a run showed a user.")
    parser.add_argument("run", metavar="RUN", help=RUN)
    parser.add_argument("user", nargs="?", metavar="user=ID", help="the user's id or name in the data")
    parser.add_argument("--worst", type=int, metavar="N", help="the N users whose target the ranker moved down most")
    parser.add_argument("--top", type=int, default=10, metavar="N", help="candidates besides the targets (%(default)s)")
    parser.add_argument("--uri", help=URI)
    parser.add_argument("--json", action="store_true", help="print JSON, with every candidate and feature")
    return parser
