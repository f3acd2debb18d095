"""``python -m recx list [GROUP]``: what there is to choose from, a line each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from recx.cli.commands.parser import Parser
from recx.config import option_sources
from recx.core.errors import InputError, did_you_mean
from recx.evaluation.definitions import METRICS

GROUP = "metric"
"""The group whose options need no file: recx's own metrics are named in place, a plugin's have option files."""


def run(arguments: Sequence[str]) -> int:
    """Print the options of one group or of all: name, the package it is from, and what it is.

    Raises:
        InputError: there is no such group.
    """
    parser = Parser(prog="recx list")
    parser.add_argument("group", nargs="?")
    wanted = parser.parse_args(arguments).group
    found = [*_options(), *((GROUP, name, "recx", text) for name, text in METRICS.items())]
    groups = dict.fromkeys(group for group, *_ in found)
    if wanted is not None and wanted not in groups:
        raise InputError(f"there is no group {wanted!r}: {did_you_mean(wanted, groups)}")
    width = max(len(option) for _, option, *_ in found)
    for group in [wanted] if wanted else groups:
        print(group)
        for of, option, package, text in found:
            if of == group:
                print(f"  {option:<{width}}  {package}  {text}".rstrip())
    return 0


def _options() -> Iterator[tuple[str, str, str, str]]:
    """Yield (group, option, package, first comment) of every option file."""
    for name, (package, file) in option_sources.options().items():
        group, _, option = name.rpartition("/")
        if group:
            yield group, option, package, _first_comment(file)


def _first_comment(file: Path) -> str:
    with file.open(encoding="utf-8") as lines:
        comments = (line[1:].strip() for line in lines if line.startswith("#"))
        return next((comment for comment in comments if not comment.startswith("@")), "")  # @package is Hydra's
