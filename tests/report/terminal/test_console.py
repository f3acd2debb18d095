"""The printed summary of a run."""

from __future__ import annotations

import io
import math
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console

from recx.core.nouns import OF_NEWS, Nouns
from recx.core.progress import Stages, shown_on
from recx.report.terminal.console import console_of_stdout, print_summary
from recx.report.terminal.text_table import UNLIMITED, room

MEANS = {
    "retrieval/users": 1234.0,
    "retrieval/recall_at_10": 0.25,
    "retrieval/recall_at_50": 0.5,
    "ranking/users": 617.0,
    "ranking/ndcg_at_5": math.nan,
    "end_to_end/mrr": 0.125,
    "funnel/lift_ndcg_at_5": 0.03,
    "funnel/lost_in_retrieval": 0.5,
}
ADDRESS = "python -m recx ui 01234567"


def printed(
    folder: Path,
    *,
    means: dict[str, float] | None = MEANS,
    width: int = 100,
    address: str | None = ADDRESS,
    advice: tuple[str, ...] = (),
    collinear: tuple[tuple[str, ...], ...] = (),
    nouns: Nouns | None = None,
    **of_console: Any,
) -> str:
    result: Any = SimpleNamespace(
        experiment=SimpleNamespace(dataset=SimpleNamespace(nouns=nouns)),
        report=None if means is None else SimpleNamespace(means=means),
        weights={"weak": 0.1, "strong": -2.0, "middle": 1.0},
        collinear=collinear,
        metrics={
            "data/users": 1234.0,
            "data/duplicate_rows": 0.0,
            "data/items": 60.0,
            "data/articles": 59.0,
            "data/articles_without_embedding": 17.0,
            "data/tied_at_5": 0.0123,
        },
        seconds={"load": 0.5, "retrieve": 3.0, "total": 12.345},
        hits={"load": 1, "retrieve": 1},
        passes={"load": 1, "retrieve": 2},
    )
    out = io.StringIO()
    run: Any = SimpleNamespace(address=address)
    print_summary(Console(file=out, width=width, **of_console), result, folder, run, advice)
    return out.getvalue()


def test_users_and_items_are_called_what_the_dataset_calls_them(tmp_path: Path) -> None:
    advice = ("give users more items, such as by dataset.items=FILE",)
    text = printed(tmp_path, nouns=OF_NEWS, advice=advice)
    lines = text.splitlines()
    assert "are the right articles among the candidates?" in text
    assert "do readers get the right articles?" in text
    assert next(line for line in lines if line.startswith("ranking")).endswith("617 readers (50.0 %)")
    assert "give readers more articles, such as by dataset.items=FILE" in text
    assert re.search(r"^  readers +1,234 ", text, flags=re.MULTILINE)
    assert re.findall(r"^.*(?<!dataset\.)\b(?:users?|items?)\b.*$", text, flags=re.MULTILINE) == [
        line for line in lines if re.match(r"  items +60\b", line)
    ], "but for a count that has another's name"


def test_figures_are_aligned_with_their_cut(tmp_path: Path) -> None:
    lines = printed(tmp_path).splitlines()
    head = next(line for line in lines if "uncut" in line)
    places = {cut: head.index(cut) + len(cut) for cut in ("at 5", "at 10", "at 50", "uncut")}

    def cell(row: str, cut: str) -> str:
        line = next(line for line in lines if line.startswith(f"  {row} "))
        return line[: places[cut]].split("  ")[-1].strip()

    assert cell("recall", "at 10") == "0.2500"
    assert cell("recall", "at 50") == "0.5000"
    assert cell("ndcg", "at 5") == "–"
    assert cell("mrr", "uncut") == "0.1250"
    assert cell("lift ndcg", "at 5") == "+0.0300"
    assert next(line for line in lines if line.startswith("ranking")).endswith("617 users (50.0 %)")


def test_weights_are_sorted_by_strength(tmp_path: Path) -> None:
    text = printed(tmp_path, width=25)
    assert text.index("strong") < text.index("middle") < text.index("weak")
    assert "-2.000" in text


def test_weights_of_collinear_features_are_marked_and_aligned(tmp_path: Path) -> None:
    assert "*" not in printed(tmp_path)
    text = printed(tmp_path, collinear=(("weak", "strong"),), width=25)
    assert "* collinear, not to be read singly" in " ".join(text.split())
    cells = [line.rstrip() for line in text.splitlines() if line.strip().startswith(("weak ", "strong ", "middle "))]
    assert cells == ["  strong  -2.000*", "  middle  +1.000", "  weak    +0.100*"]


def test_counts_that_are_zero_are_not_shown(tmp_path: Path) -> None:
    text = printed(tmp_path)
    assert "articles without embedding" in text
    assert "1,234" in text
    assert "0.0123" in text
    assert "duplicate rows" not in text


def test_cached_stages_are_marked(tmp_path: Path) -> None:
    text = printed(tmp_path)
    assert "0.50 cached" in text
    assert "3.00 1 of 2 cached" in text
    assert "12.35 cached" not in text
    assert "12.3" in text


def test_the_location_of_the_run_is_printed(tmp_path: Path) -> None:
    text = printed(tmp_path)
    assert str(tmp_path) in text
    assert "python -m recx ui" in text
    assert ADDRESS in text


@pytest.mark.parametrize("address", [None, "http://host:5000/#/experiments/1"])
def test_the_page_of_a_server_is_printed_as_it_is(tmp_path: Path, address: str | None) -> None:
    text = printed(tmp_path, address=address)
    assert "recx ui" not in text
    assert address is None or address in text


@pytest.mark.parametrize("width", [30, 60, 80, 100, 200])
def test_plain_text_is_never_wrapped_or_coloured(tmp_path: Path, width: int) -> None:
    text = printed(tmp_path, width=width)
    assert "\x1b" not in text
    assert any(line.endswith(ADDRESS) for line in text.splitlines())
    assert any(line.endswith(str(tmp_path)) for line in text.splitlines())
    assert "…" not in text
    if width >= 100:
        assert max(len(line) for line in text.splitlines() if ADDRESS not in line and str(tmp_path) not in line) <= 100


def test_a_terminal_gets_colour_and_the_same_words(tmp_path: Path) -> None:
    from rich.text import Text

    coloured = printed(tmp_path, force_terminal=True)
    assert "\x1b" in coloured
    assert Text.from_ansi(coloured).plain.split() == printed(tmp_path).split()


@pytest.mark.parametrize(("forced", "colour"), [("", False), ("1", True)], ids=["a pipe", "a pipe with FORCE_COLOR"])
def test_a_pipe_is_no_terminal_whatever_its_colours(
    forced: str, colour: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FORCE_COLOR", forced)
    monkeypatch.delenv("NO_COLOR", raising=False)
    console = console_of_stdout()
    with shown_on(console), Stages()("load"):
        console.print("[red]done[/red]")
    printed = capsys.readouterr().out
    assert ("\x1b[31mdone" in printed) == colour
    assert not set("…\r") & set(printed)  # what a moving line would have written
    assert room(console) == UNLIMITED


def test_a_prediction_lists_the_files_written(tmp_path: Path) -> None:
    (tmp_path / "submission.csv").write_bytes(b"x" * 2_500)
    text = printed(tmp_path, means=None)
    assert "submission.csv  2.5 kB" in text
    assert "uncut" not in text


def test_every_sentence_of_advice_has_a_bullet_and_without_advice_there_is_no_section(tmp_path: Path) -> None:
    text = printed(tmp_path, advice=("the first thing", "the second thing"))
    at = text.splitlines().index("advice")
    assert text.splitlines()[at + 1 : at + 3] == ["  • the first thing", "  • the second thing"]
    assert "advice" not in printed(tmp_path).splitlines()
