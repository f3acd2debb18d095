"""``python -m recx docs [TOPIC]``: open the documentation in a browser."""

from __future__ import annotations

import webbrowser
from collections.abc import Sequence

from recx.cli.commands.parser import Parser
from recx.cli.pages import DOCS, SITE, page_of
from recx.core.errors import InputError
from recx.core.exit_codes import DONE
from recx.core.system.screen import echo


def run(arguments: Sequence[str]) -> int:
    """Open the site, or the page of a topic, from the files of this installation, and print its address.

    Raises:
        InputError: There is no such page, or this installation has no site.
    """
    chosen = parser().parse_args(arguments)
    path = SITE / "index.html"
    if chosen.topic:
        path = (SITE / page_of(chosen.topic).relative_to(DOCS)).with_suffix(".html")
    if not path.is_file() and (SITE / "index.html").is_file():
        raise InputError(
            f"the site was built before the page {chosen.topic!r} was written: run `make docs` again, or read it in "
            f"the terminal (`python -m recx help {chosen.topic}`)"
        )
    if not path.is_file():
        raise InputError(
            "this installation has no site: run `make docs` in recx's folder, or read a page in the terminal "
            "(`python -m recx help TOPIC`)"
        )
    echo(path.as_uri())
    if not chosen.only_print:
        webbrowser.open(path.as_uri())
    return DONE


def parser() -> Parser:
    """Return the flags."""
    parser = Parser(prog="recx docs", description="Open the documentation in a browser; it needs no network.")
    parser.add_argument("topic", nargs="?", metavar="TOPIC", help="the page to open, such as own-data")
    parser.add_argument("--print", action="store_true", dest="only_print", help="print the address and open nothing")
    return parser
