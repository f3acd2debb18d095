"""The table of a metric as a paper prints it, and what a study says in sentences."""

from __future__ import annotations

import re
from typing import Any

from recx.jobs.study.paper import paper_table
from recx.jobs.study.sentences import sentences
from recx.jobs.study.tables import tables_of
from recx.report.terminal.formats import figure

NDCG = "end_to_end/ndcg_at_10"


def test_cells_are_means_with_spread_stars_and_places(outcomes: Any) -> None:
    tables = tables_of(outcomes(failed=frozenset({("knn", "films", 0)})), [NDCG], "popularity")
    paper = paper_table("mine", tables, NDCG)
    assert paper.head == ["films", "beauty", "news", "average rank"]
    assert paper.label == "mine-end-to-end-ndcg-at-10"
    rows = dict(paper.rows)
    for row in tables.pivot[NDCG].to_dict("records"):
        cell = rows[row["chain"]][paper.head.index(row["world"])]
        assert cell.figure == figure(row["mean"])
        assert cell.spread == ("" if row["n_seeds"] == 1 else figure(row["sd"]))
        assert cell.marks == row["stars"]
        assert cell.place == (row["place"] if row["place"] < 3 else 0)
    assert [cells[0].note for cells in rows.values()] == [0, 0, 0, 1]
    assert [len(paper.notes), paper.notes[0][:22]] == [1, "1 of 2 seeds failed: i"]
    assert rows["popularity"][-1].figure == f"{tables.ranks[NDCG].ranks['popularity']:.2f}"
    assert any("*" in cells[0].marks for cells in rows.values())
    assert any("†" in cells[0].marks for cells in rows.values())


def test_what_looks_equal_is_marked_alike(outcomes: Any) -> None:
    tables = tables_of(outcomes(), [NDCG], None)
    table = tables.pivot[NDCG]
    table.loc[table["world"] == "films", "mean"] = [0.30001, 0.29999, 0.2, 0.1]
    cells = {chain: cells[0] for chain, cells in paper_table("mine", tables, NDCG).rows}
    assert [cell.place for cell in cells.values()] == [1, 1, 2, 0]


def test_worlds_are_averaged_only_where_the_study_says_so(outcomes: Any) -> None:
    made = outcomes(failed=frozenset({("ease", "news", 0), ("ease", "news", 1)}))
    plain = paper_table("mine", tables_of(made, [NDCG], None), NDCG)
    assert "mean of the worlds" not in plain.head
    assert not any("Mean of the worlds" in one for one in plain.sentences)
    tables = tables_of(made, [NDCG], None, average=True)
    paper = paper_table("mine", tables, NDCG)
    cells = {chain: cells[paper.head.index("mean of the worlds")] for chain, cells in paper.rows}
    assert cells["ease"].figure == ""
    assert cells["slim_5"].figure == figure(float(tables.wide(NDCG).loc["slim_5"].mean()))
    assert cells["slim_5"].place == 1
    assert any(one.startswith("Mean of the worlds: each world counts the same") for one in paper.sentences)


def test_one_world_has_no_ranks(outcomes: Any) -> None:
    tables = tables_of(outcomes(worlds=1, seeds=1), [NDCG], "popularity")
    paper = paper_table("mine", tables, NDCG)
    assert paper.head == ["films"]
    assert paper.sentences[0] == "Of one seed"
    assert sentences(tables, NDCG)[-1] == (
        "average ranks are not tested: 4 chains in 1 world: ranks are tested from 3 chains and worlds on"
    )


def test_sentences_say_the_best_what_is_told_apart_and_the_ranks(outcomes: Any) -> None:
    tables = tables_of(outcomes(failed=frozenset({("knn", "news", 0), ("knn", "news", 1)})), [NDCG], "popularity")
    said = sentences(tables, NDCG)
    best = tables.wide(NDCG, "place").eq(1).idxmax().to_dict()
    for sentence, world in zip(said, tables.worlds, strict=False):
        assert sentence.startswith(f"{world}: best is {best[world]}, 0.")
        others = re.search("not told apart from (.*)", sentence)
        p = tables.wide(NDCG, "p_holm_best")[world].dropna()
        assert sorted(others[1].split(", ")) == sorted(p.index[p >= 0.05]) if others else (p < 0.05).all()
    assert said[3] == (
        "told apart from the baseline popularity, worlds: ease better in 3 of 3; slim_5 better in 3 of 3; knn better "
        "in 2 of 2"
    )
    assert said[4] == "knn is left out of the average ranks: no figure in news"
    assert said[5].startswith("average ranks over 3 worlds: ")
    assert said[6].startswith("Friedman's test over 3 worlds: chi-squared ")
    assert said[7].startswith("Nemenyi's critical difference is 1.91: ")


def test_a_world_where_all_failed_is_said(outcomes: Any) -> None:
    failed = frozenset(
        (one.cell.chain, one.cell.world, one.cell.seed) for one in outcomes() if one.cell.world == "news"
    )
    said = sentences(tables_of(outcomes(failed=failed), [NDCG], "popularity"), NDCG)
    assert "news: no chain has a figure" in said
    assert "news is left out of the average ranks: no chain has a figure there" in said
