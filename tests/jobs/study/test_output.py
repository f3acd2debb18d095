"""What a study leaves: files, page and console; and the page made again from its data."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pandas as pd
import pytest
from rich.console import Console
from visible import visible_text

import recx
from recx.core.errors import InputError
from recx.core.nouns import OF_SEARCH
from recx.jobs.study.output import print_study, read_tables, write_outputs
from recx.jobs.study.page import figures_of, html_of
from recx.jobs.study.tables import tables_of

NDCG, RECALL = "end_to_end/ndcg_at_10", "retrieval/recall_at_20"
FAILED = frozenset({("ease", "news", 0), ("ease", "news", 1)})


def test_the_files_of_a_study(outcomes: Any, tmp_path: Path) -> None:
    tables = tables_of(outcomes(failed=FAILED), [NDCG], "popularity")
    paths = write_outputs("mine", tables, tmp_path)
    summary = tmp_path / "summary"
    assert sorted(path.name for path in paths) == sorted(path.name for path in summary.iterdir())
    assert {path.name for path in paths} == {
        *("study.json", "mine.tex", "mine.md", "study.html", "critical_difference_ndcg_at_10.svg"),
        *("differences_ndcg_at_10.svg", "table_ndcg_at_10.csv", "ranks_ndcg_at_10.csv", "costs.csv", "runs.csv"),
    }
    assert (tmp_path / "study.html").read_bytes() == (summary / "study.html").read_bytes()
    table = pd.read_csv(summary / "table_ndcg_at_10.csv", keep_default_na=False, na_values=[""])
    assert table["mean"].round(12).tolist()[:5] == tables.pivot[NDCG]["mean"].round(12).tolist()[:5]
    ranks = pd.read_csv(summary / "ranks_ndcg_at_10.csv").set_index("chain")
    assert ranks["average_rank"].to_dict() == tables.ranks[NDCG].ranks
    assert ranks["critical_difference"].unique().round(2).tolist() == [1.91]
    ElementTree.parse(summary / "critical_difference_ndcg_at_10.svg")
    assert json.loads((summary / "study.json").read_text())["ranks"][NDCG]["left_out"] == {"ease": "no figure in news"}
    assert "\\begin{tabular}{lrrrr}" in (summary / "mine.tex").read_text()
    assert "| chain" not in (summary / "mine.md").read_text()
    assert "2 of 2 seeds failed: it broke" in (summary / "mine.md").read_text()


def test_without_tests_there_are_no_figures(outcomes: Any, tmp_path: Path) -> None:
    tables = tables_of(outcomes(worlds=2), [NDCG], None)
    names = {path.name for path in write_outputs("mine", tables, tmp_path)}
    assert not any(name.endswith(".svg") for name in names)
    [found] = figures_of(tables).values()
    assert (found.ranks, found.differences) == (None, ())


def test_the_page_is_made_again_from_its_data(outcomes: Any, tmp_path: Path) -> None:
    tables = tables_of(outcomes(failed=FAILED), [NDCG], "popularity", average=True)
    write_outputs("mine", tables, tmp_path)
    name, found, when = read_tables(tmp_path)
    assert html_of(name, found, when) == (tmp_path / "study.html").read_text()
    assert recx.results.load_study(str(tmp_path)).document() == tables.document()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda content: content | {"version": 99}, "another version of recx"),
        (lambda content: {name: value for name, value in content.items() if name != "pivot"}, "is damaged"),
        (lambda content: content | {"metrics": 3}, "is damaged"),
        (lambda content: [content], "is damaged"),
        (lambda content: content | {"costs": [{"chain": "x"}]}, "is damaged"),
    ],
)
def test_a_damaged_file_is_an_error_that_says_so(outcomes: Any, tmp_path: Path, change: Any, message: str) -> None:
    write_outputs("mine", tables_of(outcomes(chains=2, worlds=1), [NDCG], None), tmp_path)
    path = tmp_path / "summary" / "study.json"
    path.write_text(json.dumps(change(json.loads(path.read_text()))))
    with pytest.raises(InputError, match=message):
        read_tables(tmp_path)


def test_a_folder_without_a_finished_study_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="holds no finished study"):
        read_tables(tmp_path)


def test_the_page_escapes_what_others_wrote_and_requests_nothing(outcomes: Any, tmp_path: Path) -> None:
    tables = tables_of(outcomes(failed=FAILED), [NDCG], "popularity")
    write_outputs("mine", tables, tmp_path)
    page = (tmp_path / "study.html").read_text()
    assert "<b>$HOME" not in page
    assert "&lt;b&gt;$HOME" in page
    assert not re.search(r"url\(|@import|https?://(?!www\.w3\.org/2000/svg)", page)
    for section in ("answer", "metric-1", "costs", "runs"):
        assert f'href="#{section}"' in page
        assert f'id="{section}"' in page
    assert "2 of 24 runs failed: ease in news" in page
    assert "CD = 1.91" in page


def test_page_and_tables_speak_in_the_words_of_the_dataset(outcomes: Any, tmp_path: Path) -> None:
    tables = tables_of(outcomes(), [NDCG], "popularity", average=True, nouns=OF_SEARCH)
    write_outputs("mine", tables, tmp_path)
    out = io.StringIO()
    print_study(Console(file=out, width=100), tables, tmp_path)
    page = visible_text((tmp_path / "study.html").read_text())
    for said in (page, out.getvalue(), (tmp_path / "summary" / "mine.tex").read_text()):
        assert "however many queries it has" in " ".join(said.split())
        assert not re.search(r"\b(users?|items?)\b", said, re.IGNORECASE)


def test_the_console_shows_tables_notes_and_paths(outcomes: Any, tmp_path: Path) -> None:
    tables = tables_of(outcomes(failed=FAILED), [NDCG, "end_to_end/recall_at_20"], "popularity")
    out = io.StringIO()
    print_study(Console(file=out, width=100), tables, tmp_path)
    lines = out.getvalue().splitlines()
    assert lines[1:3] == ["read this first", "  • 2 of 24 runs failed: ease in news"]
    head = lines.index(NDCG) + 1
    assert lines[head].split() == ["chain", "films", "beauty", "news", "average", "rank"]
    row = {row["world"]: row for row in tables.pivot[NDCG].to_dict("records") if row["chain"] == "knn"}
    cells = [f"{of['mean']:.4f} ± {of['sd']:.4f}{of['stars']}" for of in row.values()]
    [line] = [line for line in lines[head:] if line.startswith("  knn")][:1]
    assert " ".join(line.split()[1:-1]) == " ".join(cells)
    assert "  1 2 of 2 seeds failed: it broke at 100 % of <b>$HOME</b>\\x_1" in lines
    assert out.getvalue().count("Mean ± standard deviation over 2 seeds.") == 1
    costs = lines.index("seconds, and memory in MB")
    assert lines[costs + 2].split() == ["popularity", *["2", "3"] * 3]
    assert lines[-2:] == [f"tables {tmp_path}/summary", f"page {tmp_path}/study.html"]
