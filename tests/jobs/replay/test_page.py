"""The page of a replay, and what a person should know first."""

from __future__ import annotations

from collections.abc import Callable
from html.parser import HTMLParser
from io import StringIO
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from rich.console import Console

from recx.jobs.replay.alarms import Limit
from recx.jobs.replay.output import as_plain
from recx.jobs.replay.page import html_of, sentences
from recx.jobs.replay.run import Replayed
from recx.report.terminal.print_replay import print_replay

from .conftest import DAY, START

Replay = Callable[..., Replayed]
VOID = {"meta", "link", "input", "br", "hr", "img"}


class Page(HTMLParser):
    """Reads a page: every element is closed, and no id stands there twice."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.words: list[str] = []
        self.feed(text)
        assert not self.open
        assert len(set(self.ids)) == len(self.ids)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.ids += [str(value) for name, value in attrs if name == "id"]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)


@pytest.fixture
def said(replayed: Replay) -> dict[str, Any]:
    return as_plain(replayed("early", refit="1d", limits=[Limit.of("end_to_end/ndcg_at_5<2"), Limit.of("new_items>2")]))


def test_the_page_has_every_figure_of_the_table(said: dict[str, Any]) -> None:
    page = Page(html_of(said))
    assert {"answer", "quality", "news", "drift", "refit", "alarms"} <= set(page.ids)
    text = " ".join(page.words)
    for one in said["windows"]:
        assert f"{one['figures']['end_to_end/ndcg_at_5']:.4f}" in text
        assert all(f"{moved['psi']:.4f}" in text for moved in one["drift"].values())
        assert all(f"{gain['gain']:+.4f}" in text for gain in one["refit"].values() if round(gain["gain"], 4))


def test_without_refits_limits_and_a_trend_their_sections_are_not_there(replayed: Replay) -> None:
    page = Page(html_of(as_plain(replayed("early"))))
    assert not {"refit", "alarms", "trends"} & set(page.ids)


def test_what_is_said_first(said: dict[str, Any]) -> None:
    first, *others = sentences(said)
    assert first == "3 alarms: end_to_end/ndcg_at_5"
    gains = [one["refit"]["end_to_end/ndcg_at_5"]["gain"] for one in said["windows"][1:]]
    assert any(
        f"changes {said['objective']} by {sum(gains) / 2:+.4f} on average over 2 windows" in one for one in others
    )
    assert any("the last window that the chain has learned from" in one for one in others)


def test_much_that_is_unknown_and_what_could_not_be_fitted_is_said(said: dict[str, Any]) -> None:
    said["windows"][1]["figures"]["items_not_in_catalogue"] = 0.8
    said["windows"][2] |= {"refit": {}, "not_refitted": "too little data"}
    told = " ".join(sentences(said))
    assert "up to 80 % of a window's events are on items that the chain does not know" in told
    assert f"not fitted again for 1 windows, of which the first begins {said['windows'][2]['name']}: too little" in told


def test_names_of_a_stranger_are_text(said: dict[str, Any]) -> None:
    page = html_of({**said, "name": "<script>alert(1)</script>", "log": "<b>"})
    assert "<script>alert" not in page
    assert "&lt;script&gt;" in page


def test_from_four_whole_windows_on_there_are_trends(replayed: Replay) -> None:
    made = replayed("early", every="12h")
    said = as_plain(made)
    page = Page(html_of(said))
    assert "trends" in page.ids
    assert set(said["trends"]) <= set(made.curves)
    assert said["trends"]["new_users"] == {"slope": 0, "p": 1, "windows": 6}
    said["trends"]["end_to_end/hit_at_5"] = {"slope": -0.02, "p": 0.01, "windows": 6}
    assert "end_to_end/hit_at_5 falls by 0.0200 a window (Kendall p = 0.010)" in list(sentences(said))


def test_a_partial_window_is_marked_and_in_no_trend(replayed: Replay) -> None:
    said = as_plain(replayed("early", every="2d"))
    assert "the log ends within the last window (50 % of it), which raises no alarm" in list(sentences(said))
    assert "(to the log’s end)" in html_of(said)
    assert as_plain(replayed("early", every="14h"))["trends"]["new_users"]["windows"] == 5  # of 72 h, the last has 2


def test_a_window_of_one_user_has_no_interval(home: Path, replayed: Replay) -> None:
    log = pd.read_csv(home / "log.csv")
    later = log["ts"] >= START + 6 * DAY
    log[~later | (log["uid"] == "u0")].to_csv(home / "alone.csv", index=False)
    made = replayed("early", "alone.csv", refit="1d")
    said = as_plain(made)
    assert [one["judged"] for one in said["windows"]][1:] == [1, 1]
    assert said["windows"][1]["intervals"]["end_to_end/ndcg_at_5"] == [None, None]
    assert {gain["low"] for gain in said["windows"][1]["refit"].values()} == {None}
    assert "above 0 in 0 of them and below it in 0" in " ".join(sentences(said))
    assert "Quality" in html_of(said)
    console = Console(file=StringIO(), width=100)
    print_replay(console, said["windows"], list(sentences(said)), "end_to_end/mrr", ["files: here"])
    printed = console.file.getvalue()  # type: ignore[attr-defined]
    assert "2020-09-19" in printed
    assert printed.endswith("files: here\n")
