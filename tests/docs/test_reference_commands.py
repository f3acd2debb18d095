"""The page of the command line has every command, flag, exit code and line of the help."""

from __future__ import annotations

import argparse
import pkgutil
from collections.abc import Iterator

import pytest
from reference_pages import commands

from recx.cli import commands as package
from recx.cli.commands import COMMANDS, compare_ab, module_of
from recx.cli.commands.help import ALL

PAGE = commands.pages()[commands.PAGE]
SECTIONS = {part.partition("\n")[0]: part for part in PAGE.split("\n## ")[1:]}
HELPERS = {"parser", "compare_ab"}


def arguments(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for inner in action.choices.values():
                yield from arguments(inner)
        elif action.dest != "help":
            yield action


def test_every_module_of_a_command_is_a_command() -> None:
    modules = {module.name for module in pkgutil.iter_modules(package.__path__)}
    assert modules - HELPERS == {command.replace("-", "_") for command in COMMANDS}


@pytest.mark.parametrize("command", COMMANDS)
def test_the_section_of_a_command_has_every_argument_with_its_meaning(command: str) -> None:
    rows = [line.strip("| ").split(" | ") for line in SECTIONS[command].splitlines() if line.startswith("| `")]
    parsers = [module_of(command).parser(), *([compare_ab.parser()] if command == "compare" else [])]
    for action in (action for parser in parsers for action in arguments(parser)):
        names = action.option_strings or [str(action.metavar or action.dest)]
        found = [row for row in rows if all(name in row[0] for name in names)]
        assert found, names
        assert all(len(row) > 1 and row[1] and "%(" not in row[1] for row in found), names


@pytest.mark.parametrize("command", COMMANDS)
def test_the_section_of_a_command_says_what_it_reaches(command: str) -> None:
    [row] = [row for row in commands.rows_of_security() if command in commands.names_of(row)]
    assert "| " + " | ".join(row[1:]) + " |" in SECTIONS[command]


def test_defaults_and_codes_are_those_of_the_code() -> None:
    assert "| `--seed SEED` | seed of resamples and sign flips | `0` |" in SECTIONS["compare"]
    assert "| `--port PORT` | the port of the pages | `5000` |" in SECTIONS["ui"]
    assert "| `--anyway` | show runs of other folds or data too, without tests |  |" in SECTIONS["compare"]
    assert "Exit code: `0`, or `3` where a limit was crossed." in SECTIONS["replay"]
    assert "| `130` | interrupted" in SECTIONS["Exit codes"]


def test_flags_of_hydra_are_there_but_for_those_that_recx_refuses() -> None:
    section = SECTIONS["An experiment, or a sweep"]
    for flag in ("--multirun, -m", "--cfg, -c", "--info, -i", "--config-dir, -cd", "--version"):
        assert f"| `{flag}" in section
    assert "| `--config-path" not in section
    assert "Refused are `--experimental-rerun` and `--config-path`." in section


def test_every_line_of_the_help_is_there() -> None:
    words = PAGE.replace("   # ", " ").split()
    shown = " ".join(words)
    for line in ALL.read_text(encoding="utf-8").splitlines():
        if line.startswith("  python -m recx"):
            assert " ".join(line.split()) in shown
