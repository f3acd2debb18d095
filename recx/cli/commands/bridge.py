"""``python -m recx bridge [list | setup NAME [--python PYTHON]]``: environments for the models of other libraries."""

from __future__ import annotations

from collections.abc import Sequence

from recx.cli.commands.parser import Parser
from recx.core.environments import folder_of
from recx.core.exit_codes import DONE
from recx.core.system.screen import echo


def run(arguments: Sequence[str]) -> int:
    """Print the libraries, the state of their environments and where these are; or make one.

    Raises:
        InputError: No installed plugin has the library, or there is no such Python.
        RecxError: The environment cannot be made.
    """
    parsed = parser().parse_args(arguments)
    from recx.jobs.bridges import bridge, bridges

    if parsed.command == "setup":
        from recx.core.progress import shown_on
        from recx.report.terminal.console import console_of_stdout

        chosen = bridge(parsed.name)
        with shown_on(console_of_stdout()):
            folder = chosen.set_up(parsed.python)
        echo(f"{folder} is ready: python -m recx +experiment=NAME retriever={chosen.name}")
        return DONE
    found = bridges()
    if not found:
        echo("no installed plugin has libraries: install recx-bridges from its folder or wheel")
        return DONE
    echo(f"{'library':<12}{'state':<10}{'Python':<14}what it has")
    for one in found.values():
        echo(f"{one.name:<12}{one.state:<10}{one.python:<14}{one.about} ({one.requires[0]})")
    echo(f"folder: {folder_of('NAME')}; python -m recx bridge setup NAME")
    return DONE


def parser() -> Parser:
    """Return the flags."""
    parser = Parser(prog="recx bridge", description="Environments for the models of other libraries.")
    commands = parser.add_subparsers(dest="command")
    commands.add_parser("list", help="what there is (the same as without a word)")
    setup = commands.add_parser("setup", help="make the environment of a library, or make it anew")
    setup.add_argument("name", metavar="NAME", help="the library, such as rectools")
    setup.add_argument("--python", help="the Python to make it with (the one that runs recx)")
    return parser
