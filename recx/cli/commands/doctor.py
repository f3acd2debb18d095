"""``python -m recx doctor [KEY=VALUE ...]``: check the data and its split before any training.

Where ``dataset.path`` is given without a dataset, it says what the file or folder seems to be, and how to run on it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from recx.cli.commands.parser import Parser
from recx.core.exit_codes import DONE
from recx.core.system.screen import echo


def run(arguments: Sequence[str]) -> int:
    """Print the findings on the data that a run with these overrides would use; trains nothing and writes no file.

    A bad verdict is not an error.

    Raises:
        InputError: The configuration or the data cannot be used.
    """
    chosen = parser().parse_intermixed_args(arguments)

    from recx.config.overrides import readable
    from recx.jobs.doctor import diagnosis
    from recx.jobs.identified import identified

    seems = identified(chosen.overrides)
    if seems is not None and not chosen.json:
        echo(f"{seems.text}\n")
    found = diagnosis(readable(chosen.overrides if seems is None else seems.overrides), seems)
    if chosen.json:
        echo(json.dumps(found.as_dict(), indent=2))
        return DONE

    from recx.report.terminal.console import console_of_stdout

    found.print_on(console_of_stdout())
    return DONE


def parser() -> Parser:
    """Return the flags."""
    parser = Parser(prog="recx doctor", description="Check the data and its split before any training.")
    parser.add_argument("overrides", nargs="*", metavar="KEY=VALUE", help="the overrides of a run on this data")
    parser.add_argument("--json", action="store_true", help="print JSON")
    return parser
