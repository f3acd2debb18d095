"""``recx --help`` and ``recx help``: what fits a screen, and where the rest is."""

from __future__ import annotations

import re
import sys

import pytest

from recx.cli import main
from recx.cli.commands import COMMANDS, module_of
from recx.cli.commands.help import USUAL, WORDS
from recx.cli.pages import topics
from recx.config import option_sources


def said(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    monkeypatch.setattr(sys, "argv", ["recx", *arguments])
    assert main.main() == 0
    return capsys.readouterr().out


def test_help_fits_a_screen_and_names_ten_commands(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = said(monkeypatch, capsys, "--help")
    lines = text.splitlines()
    assert len(lines) <= 40
    assert max(map(len, lines)) <= 80
    assert [line.split()[0] for line in lines if line.startswith("  ") and line.split()[0] in COMMANDS] == list(USUAL)
    assert len(USUAL) == 10
    for word in ("help commands", "help options", "help topics", "help TOPIC", "docs TOPIC", "list"):
        assert word in text
    assert said(monkeypatch, capsys, "help") == said(monkeypatch, capsys, "+experiment=news", "-h") == text


def test_help_commands_has_a_line_for_every_command_and_the_exit_codes(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = said(monkeypatch, capsys, "help", "commands")
    assert set(re.findall(r"^  python -m recx ([a-z][a-z-]*) ", text, flags=re.MULTILINE)) == set(COMMANDS)
    assert re.findall(r"^  (\d+) ", text, flags=re.MULTILINE) == ["0", "1", "2", "3", "130", "141"]


def test_help_options_names_every_option(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    words = said(monkeypatch, capsys, "help", "options").replace(",", " ").split()
    assert {part for name in option_sources.options() if "/" in name for part in name.rsplit("/", 1)} <= set(words)


def test_help_topics_names_every_page(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    lines = said(monkeypatch, capsys, "help", "topics").splitlines()
    assert [line.split()[0] for line in lines] == list(topics())
    assert not WORDS.keys() & topics().keys()  # which would hide the page


@pytest.mark.parametrize("command", COMMANDS)
def test_the_parser_of_a_command_says_what_it_and_every_flag_do(command: str) -> None:
    parser = module_of(command).parser()
    assert parser.prog == f"recx {command}"
    assert parser.description
    for action in parser._actions:
        assert action.help or action.dest == "command", action.dest


def test_help_of_a_command_without_a_page_shows_its_flags(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "ui" not in topics()
    assert "--port PORT" in said(monkeypatch, capsys, "help", "ui")
    assert "python -m recx replay" in said(monkeypatch, capsys, "help", "replay")  # a page


def test_an_unknown_topic_names_the_nearest_word(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["recx", "help", "toppics"])
    assert main.main() == 2
    assert capsys.readouterr().err == "there is no page 'toppics': did you mean 'topics'?\n"


def test_a_page_in_a_pipe_of_80_columns_has_no_wider_prose_and_whole_commands(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    lines = said(monkeypatch, capsys, "help", "own-data").splitlines()
    commands = [line for line in lines if line.startswith("  python -m recx")]
    assert any(len(line) > 80 and line.endswith(" dataset.time_unit=s") for line in commands)
    assert max(len(line) for line in lines if line not in commands) <= 80
    assert not any("](" in line or ".md)" in line for line in lines)
