"""``python -m recx explain RUN user=ID``: why a run showed a user what it did; ``--worst N``: whom the ranker lost."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict

from recx.cli.commands.parser import Parser
from recx.core.errors import InputError


def run(arguments: Sequence[str]) -> int:
    """Explain one user of a finished run, or list the users whom its ranker served worst; fits nothing.

    Raises:
        InputError: there is no such run or user, or the run's data has changed.
    """
    parser = Parser(prog="recx explain", description="Why a run showed a user what it did.")
    parser.add_argument("run", metavar="RUN", help="a run's folder, its MLflow run id, or last")
    parser.add_argument("user", nargs="?", metavar="user=ID", help="the user's id or name in the data")
    parser.add_argument("--worst", type=int, metavar="N", help="the N users whose target the ranker put furthest down")
    parser.add_argument("--top", type=int, default=10, metavar="N", help="candidates shown besides the targets (10)")
    parser.add_argument("--json", action="store_true", help="print JSON, with every candidate and feature")
    chosen = parser.parse_intermixed_args(arguments)
    user = _user(chosen.user, chosen.worst, chosen.top)

    from recx.core.system.threads import limited_to
    from recx.experiment import saved_runs
    from recx.report.terminal.console import console_of_stdout

    saved = saved_runs.load(chosen.run)
    with limited_to(saved.threads):
        from recx.core.system.serialize import plain
        from recx.experiment.explain import Reopened
        from recx.report.terminal.print_explanation import print_explanation, print_worst

        reopened = Reopened.of(saved)
        if user is None:
            worst = reopened.worst(chosen.worst)
            print(json.dumps(plain(worst), indent=2)) if chosen.json else print_worst(console_of_stdout(), worst)
        else:
            explanation = reopened.explain(user)
            if chosen.json:
                print(json.dumps(plain(asdict(explanation)), indent=2))
            else:
                print_explanation(console_of_stdout(), explanation, chosen.top)
    return 0


def _user(word: str | None, worst: int | None, top: int) -> str | None:
    """Return the user asked for, None where it is the worst ones.

    Raises:
        InputError: neither is asked for, or both, or a number is too small.
    """
    if (worst is not None and worst < 1) or top < 0:
        raise InputError(f"recx explain: --worst {worst} --top {top}: they count from 1 and from 0 up")
    if (word is None) == (worst is None):
        raise InputError("recx explain: say which user, as in user=17, or how many of the worst, as in --worst 20")
    if word is None:
        return None
    key, equals, name = word.partition("=")
    if key != "user" or not equals or not name:
        raise InputError(f"recx explain: {word!r} names no user: write it like user=17")
    return name
