"""The commands: what each is for, its flags, what it reads, writes and reaches, and its exit codes."""

from __future__ import annotations

import argparse
import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from textwrap import dedent

from repository import ROOT

from recx.cli.commands import COMMANDS, compare_ab, module_of
from recx.cli.commands.help import ALL
from recx.cli.main import FLAGS, REFUSED
from recx.config.hydra_internals import flags_parser
from recx.core import exit_codes
from recx.core.exit_codes import EXIT_CODES
from reference_pages.markdown import code, fenced, prose, table

PAGE = "command-line"
SECURITY = ROOT / "docs" / "security.md"
INTRO = (
    "`python -m recx` and `recx` are the same. Arguments with `=` compose and run an experiment; a command comes "
    "first. An error is one sentence on stderr."
)
COLUMN = 55
"""Where the lines of ``recx help commands`` begin to say what they do."""
DEFAULT = re.compile(r"\s*\(%\(default\)s\)$")
"""The end of a help text that a column of its own shows."""


def pages() -> dict[str, str]:
    """Return the page."""
    codes = table(("code", "meaning"), ((code(str(one)), prose(what)) for one, what in EXIT_CODES.items()))
    parts = ["# The command line\n", f"{INTRO}\n", "## Exit codes\n", codes, *_experiment()]
    for command in COMMANDS:
        parts += _command(command)
    return {PAGE: "\n".join(parts)}


def rows_of_security() -> list[tuple[str, ...]]:
    """Return the rows of docs/security.md on what commands reach: commands, reads, writes, connects to."""
    after = SECURITY.read_text(encoding="utf-8").partition("## What each command reads and writes")[2]
    lines = [line for line in after.partition("\n## ")[0].splitlines() if line.startswith("| ")]
    return [tuple(cell.strip() for cell in line.strip("| ").split(" | ")) for line in lines[2:]]


def lines_of_help(*starts: str) -> list[str]:
    """Return the lines of ``recx help commands`` that begin with one of these."""
    lines = ALL.read_text(encoding="utf-8").splitlines()
    found = [line for line in lines if line.startswith(tuple(f"  python -m recx {start}" for start in starts))]
    said = [line[COLUMN:] if line[COLUMN - 1 : COLUMN] == " " else "" for line in found]
    words = [line.removesuffix(text).strip() for line, text in zip(found, said, strict=True)]
    width = max(map(len, words), default=0)
    return [f"{word:<{width}}   # {text}" if text else word for word, text in zip(words, said, strict=True)]


def rows_of(parser: argparse.ArgumentParser) -> Iterator[tuple[str, str, str]]:
    """Yield the arguments of a parser: what to write, what it means, its default; those of its subcommands too."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for word, inner in action.choices.items():
                about = next(one.help for one in action._choices_actions if one.dest == word)
                yield code(word), prose(about or ""), ""
                yield from ((f"{code(word)} {what}", meaning, default) for what, meaning, default in rows_of(inner))
        elif action.dest != "help":
            yield _written(action), _meaning(parser, action), _default(action)


def _experiment() -> Iterator[str]:
    yield "## An experiment, or a sweep\n"
    yield fenced("\n".join(lines_of_help("[", "-m", "+")), "text")
    yield _reached([row for row in rows_of_security() if not names_of(row) & {*COMMANDS}], named=True)
    own = {name for names in FLAGS for name in names.split(", ")}
    flags = [
        action
        for action in flags_parser()._actions
        if action.option_strings and not own & {*action.option_strings} and action.dest not in REFUSED
    ]
    rows = [(code(names), prose(what)) for names, what in FLAGS.items()]
    rows += [(_written(action), prose(str(action.help).partition(":\n")[0])) for action in flags]
    yield table(("flag", "meaning"), rows)
    yield "Refused are " + " and ".join(code(f"--{name.replace('_', '-')}") for name in REFUSED) + ".\n"


def _command(command: str) -> Iterator[str]:
    module = module_of(command)
    parsers = {"": module.parser, **({"--ab LOG": compare_ab.parser} if command == "compare" else {})}
    yield f"## {command}\n"
    for words, make in parsers.items():
        yield from _form(f"{command} {words}".strip(), make)
    yield _reached([row for row in rows_of_security() if command in names_of(row)])
    if returned := exits_of(module.run):
        yield f"Exit code: {returned}\n"
    if lines := lines_of_help(command):
        yield fenced("\n".join(lines), "text")


def _form(words: str, make: Callable[[], argparse.ArgumentParser]) -> Iterator[str]:
    parser = make()
    parser.formatter_class = lambda prog: argparse.HelpFormatter(prog, width=100)  # whatever the terminal's width
    if " " in words:
        yield f"### {words}\n"
    yield " ".join(filter(None, (prose(parser.description or ""), prose(parser.epilog or "")))) + "\n"
    parser.prog = f"python -m {parser.prog}"
    yield fenced(dedent(parser.format_usage().replace("usage: ", " " * len("usage: "), 1)), "text")
    rows = list(rows_of(parser))
    if rows:
        yield table(("argument", "meaning", "default"), rows)


def names_of(row: tuple[str, ...]) -> set[str]:
    """Return the commands that a row of docs/security.md is about."""
    return set(re.findall(r"`([a-z-]+)`", row[0]))


def exits_of(run: Callable[..., int]) -> str:
    """Return what the docstring of a command says on its exit codes, as numbers; "": only those of all commands."""
    found = re.search(r"Returns:\n(.*?)(?:\n\n|$)", inspect.getdoc(run) or "", flags=re.DOTALL)
    numbers: Mapping[str, object] = vars(exit_codes)
    return prose(re.sub(r"``([A-Z]+)``", lambda name: f"`{numbers[name[1]]}`", found[1])) if found else ""


def _reached(rows: list[tuple[str, ...]], *, named: bool = False) -> str:
    head = ("for", "reads", "writes", "starts, or connects to")
    return table(head if named else head[1:], (row if named else row[1:] for row in rows))


def _written(action: argparse.Action) -> str:
    if not action.option_strings:
        return code(str(action.metavar or action.dest))
    value = "" if action.nargs == 0 else f" {action.metavar or _choices(action) or action.dest.upper()}"
    return code(f"{', '.join(action.option_strings)}{value}")


def _choices(action: argparse.Action) -> str:
    return "|".join(map(str, action.choices or ()))


def _meaning(parser: argparse.ArgumentParser, action: argparse.Action) -> str:
    text = DEFAULT.sub("", action.help or "") % {**vars(action), "prog": parser.prog}
    return prose(
        "; ".join(filter(None, (text, f"one of {_choices(action)}" if action.choices and action.metavar else "")))
    )


def _default(action: argparse.Action) -> str:
    said = action.default not in (None, argparse.SUPPRESS, "") and action.default != [] and action.nargs != 0
    return code(str(action.default)) if said else ""
