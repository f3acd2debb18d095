"""``python -m recx help [TOPIC]``: the commands, or a page of the documentation in the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from recx.cli.commands.parser import Parser
from recx.cli.pages import page_of, title_of, topics
from recx.config import option_sources
from recx.core.system.screen import echo

HELP = Path(__file__).resolve().parents[1] / "help.txt"


def run(arguments: Sequence[str]) -> int:
    """Print all commands, a page, or (``topics``) the names and titles of all pages.

    Raises:
        InputError: There is no such page.
    """
    parser = Parser(prog="recx help", description="Show the commands, or a page of the documentation.")
    parser.add_argument("topic", nargs="?", metavar="TOPIC", help="a page, such as own-data; topics: the names of all")
    topic = parser.parse_args(arguments).topic
    if topic is None:
        commands()
    elif topic == "topics":
        known = topics()
        width = max(map(len, known))
        for name, page in known.items():
            echo(f"  {name:<{width}}  {title_of(page)}")
    else:
        _show(page_of(topic))
    return 0


def commands() -> None:
    """Print the commands, with examples and the options of every group."""
    options: dict[str, list[str]] = {}
    for option in option_sources.options():
        group, slash, name = option.rpartition("/")
        if slash:
            options.setdefault(group, []).append(name)
    groups = "\n".join(f"  {group:<15}{', '.join(names)}" for group, names in options.items())
    echo(HELP.read_text(encoding="utf-8").format(groups=groups))


def _show(page: Path) -> None:
    from rich.markdown import Markdown

    from recx.report.terminal.console import console_of_stdout
    from recx.report.terminal.text_table import show

    show(console_of_stdout(), [Markdown(page.read_text(encoding="utf-8"), hyperlinks=False)])
