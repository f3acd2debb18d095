"""``python -m recx list [GROUP]``: list the options of every group, one per line."""

from __future__ import annotations

from collections.abc import Sequence

from recx.cli.commands.parser import Parser
from recx.config import option_sources
from recx.core.errors import InputError, did_you_mean
from recx.core.exit_codes import DONE
from recx.core.system.screen import echo
from recx.evaluation.definitions import METRICS, SAMPLED
from recx.parts.dataset.known_files import untried


def run(arguments: Sequence[str]) -> int:
    """Print the options of one group or of all: name, package and description.

    Raises:
        InputError: The group does not exist.
    """
    wanted = parser().parse_args(arguments).group
    groups: dict[str, list[tuple[str, str, str]]] = {}
    for option, (package, file) in option_sources.options().items():
        group, slash, name = option.rpartition("/")
        if slash:
            groups.setdefault(group, []).append((name, package, option_sources.description(file)))
    # recx's own metrics need no option files, those of plugins have some
    new = untried()
    groups["dataset"] = [
        (name, package, f"{text} (never tried on a real file)" if name in new else text)
        for name, package, text in groups["dataset"]
    ]
    groups.setdefault("metric", []).extend((name, "recx", text) for name, text in {**METRICS, **SAMPLED}.items())
    if wanted is not None and wanted not in groups:
        raise InputError(f"unknown group {wanted!r}: {did_you_mean(wanted, groups)}")
    width = max(len(name) for options in groups.values() for name, *_ in options)
    for group in [wanted] if wanted else groups:
        echo(group)
        for name, package, text in groups[group]:
            echo(f"  {name:<{width}}  {package}  {text}".rstrip())
    return DONE


def parser() -> Parser:
    """Return the flags."""
    parser = Parser(prog="recx list", description="List the options of every group, one per line.")
    parser.add_argument("group", nargs="?", metavar="GROUP", help="only this group, such as retriever")
    return parser
