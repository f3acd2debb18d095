"""``python -m recx help [TOPIC]``: the commands, the options of every group, or a page of the documentation."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from recx.cli.commands import COMMANDS, module_of
from recx.cli.commands.parser import Parser
from recx.cli.pages import text_of, title_of, topics
from recx.config import option_sources
from recx.core.errors import InputError, did_you_mean
from recx.core.exit_codes import DONE, EXIT_CODES
from recx.core.system.screen import echo

FOLDER = Path(__file__).resolve().parents[1]
START, ALL = FOLDER / "start.txt", FOLDER / "help.txt"
"""What ``--help`` and ``help commands`` show."""
USUAL = ("doctor", "list", "runs", "compare", "explain", "predict", "serve", "evaluate", "study", "ui")
"""The commands that ``--help`` names, in the order in which people meet them."""


def run(arguments: Sequence[str]) -> int:
    """Print a page, the flags of a command that has no page, or one of ``WORDS``; without a topic what ``--help`` does.

    Raises:
        InputError: There is no such page.
    """
    topic = parser().parse_args(arguments).topic
    pages = topics()
    if topic is None:
        print_help()
    elif topic in WORDS:
        WORDS[topic]()
    elif topic in pages:
        _show(pages[topic])
    elif topic in COMMANDS:
        echo(module_of(topic).parser().format_help(), end="")
    else:
        raise InputError(f"there is no page {topic!r}: {did_you_mean(topic, {*WORDS, *COMMANDS, *pages})}")
    return DONE


def parser() -> Parser:
    """Return the flags."""
    parser = Parser(prog="recx help", description="Show the commands, or a page of the documentation.")
    what = "a page, such as own-data; topics: the names of all; commands: all commands; options: those of every group"
    parser.add_argument("topic", nargs="?", metavar="TOPIC", help=what)
    return parser


def print_help() -> None:
    """Print what recx is, the usual commands with what they do, examples, and where the rest is."""
    width = max(map(len, USUAL))
    lines = [f"  {name:<{width}}  {module_of(name).parser().description}" for name in USUAL]
    echo(START.read_text(encoding="utf-8").format(commands="\n".join(lines)), end="")


def print_commands() -> None:
    """Print all commands with examples, and the exit codes."""
    echo(ALL.read_text(encoding="utf-8"))
    echo("Exit codes")
    for code, meaning in EXIT_CODES.items():
        echo(f"  {code:<4} {meaning}")


def print_options() -> None:
    """Print the options of every group."""
    options: dict[str, list[str]] = {}
    for option in option_sources.options():
        group, slash, name = option.rpartition("/")
        if slash:
            options.setdefault(group, []).append(name)
    echo("Groups and their options")
    for group, names in options.items():
        echo(f"  {group:<15}{', '.join(names)}")


def print_topics() -> None:
    """Print the name and the title of every page."""
    known = topics()
    width = max(map(len, known))
    for name, page in known.items():
        echo(f"  {name:<{width}}  {title_of(page)}")


def _show(page: Path) -> None:
    from recx.report.terminal.console import console_of_stdout
    from recx.report.terminal.manual import Manual
    from recx.report.terminal.text_table import show

    show(console_of_stdout(), [Manual(text_of(page), hyperlinks=False)])


WORDS = {"commands": print_commands, "options": print_options, "topics": print_topics}
"""Topics that are no pages."""
