"""Tables and paragraphs: nothing is lost, cut or parsed as markup, at any width."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console, RenderableType
from rich.text import Text

from recx.report.terminal.text_table import bullets, cut, entries, show, table, where


def printed(*parts: RenderableType, width: int = 100, **of_console: Any) -> list[str]:
    out = io.StringIO()
    show(Console(file=out, width=width, **of_console), parts)
    return out.getvalue().splitlines()


ROWS = [["a name of several words", "0.5000", "+12.5 %"], ["b" * 20, "1,234", "–"]]


def test_names_are_left_aligned_and_figures_right_aligned() -> None:
    assert printed(table(["", "mean", "relative"], ROWS)) == [
        "                             mean  relative",
        "  a name of several words  0.5000   +12.5 %",
        "  bbbbbbbbbbbbbbbbbbbb      1,234         –",
    ]


@pytest.mark.parametrize("width", [1, 10, 30, 80])
def test_a_narrow_console_folds_names_and_never_cuts(width: int) -> None:
    lines = printed(table(["", "mean", "relative"], ROWS), width=width)
    text = " ".join(lines)
    assert all(figure in text for row in ROWS for figure in row[1:])
    assert sum(line.count("b") for line in lines) == 20
    assert max(map(len, lines)) <= max(width, 2 + 8 + 2 + 6 + 2 + 8)


def test_names_that_do_not_fold_stay_whole() -> None:
    rows = [["0123456789abcdef", "some words that fold"]]
    assert printed(table(["id", "what"], rows, left=(0, 1), folding=(1,), indent=False), width=28) == [
        "id                what",
        "0123456789abcdef  some words",
        "                  that fold",
    ]


def test_a_head_of_two_lines_keeps_the_figures_below_it() -> None:
    assert printed(table(["\nid", "end_to_end/\nndcg"], [["a", "0.5000"]], indent=False)) == [
        "    end_to_end/",
        "id         ndcg",
        "a        0.5000",
    ]


def test_wide_characters_take_two_columns() -> None:
    first, second = printed(table(["a", "b"], [["新闻", "1"], ["news", "2"]], indent=False))[1:]
    assert (first, second) == ("新闻  1", "news  2")


def test_text_is_neither_markup_nor_control_characters() -> None:
    found = printed(table(["[bold]h"], [["[red]x\x1b[2J\ny"]], indent=False), "[dim]said", *bullets(["[i]so"]))
    assert found == ["[bold]h", "[red]x\\x1b[2J y", "[dim]said", "  • [i]so"]


def test_colour_is_for_terminals() -> None:
    parts = [table(["a"], [[Text("x", "red")]], styles=["bold"]), Text("said", "dim"), *entries({"name": "1"})]
    coloured = printed(*parts, force_terminal=True, color_system="standard")
    assert "\x1b[" in "".join(coloured)
    assert [Text.from_ansi(line).plain for line in coloured] == printed(*parts)


def test_entries_are_read_downwards_in_as_many_columns_as_fit() -> None:
    values = {"a": "1", "bb": "22", "c": "3"}
    assert printed(*entries(values), width=20) == ["  a    1    c    3", "  bb  22"]
    assert printed(*entries(values), width=8) == ["  a    1", "  bb  22", "  c    3"]
    assert entries({}) == []


def test_sentences_hang_below_their_bullet() -> None:
    assert printed(*bullets(["one two three", "four"]), width=12) == ["  • one two", "    three", "  • four"]
    assert bullets([]) == []


def test_a_path_is_never_wrapped() -> None:
    folder, command = Path("/long" * 30), "python -m recx ui 01234567"
    lines = printed(*where(folder, command), width=20)
    assert lines == [f"  folder   {folder}", f"  mlflow   {command}"]
    assert printed(*where(folder, "http://host")) == [f"  folder   {folder}", "  address  http://host"]


def test_a_long_text_is_cut_at_its_end() -> None:
    assert (cut("abcdef", 6), cut("abcdef", 5), cut("新闻推荐", 5)) == ("abcdef", "abcd…", "新闻…")
