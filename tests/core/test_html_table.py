"""Tables of notebooks: rows and columns, figures, and nothing of a file that acts as HTML."""

from __future__ import annotations

import math
from xml.etree import ElementTree

import pytest

from recx.core.html_table import number, sentences, stages, table, title

EVIL = '<script>alert("x")</script>&\x1b[2J'


def test_stages_are_rows_by_cuts() -> None:
    shown = stages(
        {"retrieval/recall_at_20": 0.5, "ranking/ndcg_at_5": 0.25, "ranking/mrr": 1 / 3, "ranking/users": 12}
    )
    rows = [[cell.text or "" for cell in row] for row in ElementTree.fromstring(shown).iter("tr")]
    assert rows == [
        ["", "at 5", "at 20", "uncut"],
        ["retrieval"],
        ["recall", "", "0.5000", ""],
        ["ranking"],
        ["ndcg", "0.2500", "", ""],
        ["mrr", "", "", "0.3333"],
        ["users", "", "", "12"],
    ]


def test_figures_without_a_stage_have_no_row_for_it() -> None:
    assert str(stages({"ndcg_at_5": 0.5})).count("<tr>") == 2


@pytest.mark.parametrize(
    ("value", "shown"),
    [(0.12345, "0.1235"), (1.0, "1.0000"), (2164.0, "2,164"), (1234.5, "1,234"), (math.nan, "–"), (-0.00001, "0.0000")],
)
def test_figures_have_four_digits(value: float, shown: str) -> None:
    assert number(value) == shown


def test_nothing_of_a_file_is_html() -> None:
    for shown in (
        table([EVIL], [[EVIL]]),
        stages({f"{EVIL}/{EVIL}_at_5": 1.0, EVIL: 0.5}),
        title(EVIL, EVIL),
        sentences([EVIL]),
    ):
        assert "<script" not in shown
        assert "&lt;script&gt;alert(&#34;x" in shown
        assert "\x1b" not in shown


def test_no_sentence_is_no_list() -> None:
    assert sentences([]) == ""
