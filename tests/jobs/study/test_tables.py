"""The tables of a study: figures, ranks, costs and runs, failed cells, and the way into a file and back."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from recx.evaluation.studies import COLUMNS, study_table
from recx.jobs.study.tables import COSTS, RUNS, StudyTables, of_document, tables_of

NDCG, RECALL = "end_to_end/ndcg_at_10", "end_to_end/recall_at_20"
ALL_OF_NEWS = frozenset({("ease", "news", 0), ("ease", "news", 1)})


def same(one: StudyTables, other: StudyTables) -> None:
    assert one.document() == other.document()
    for metric in one.metrics:
        pd.testing.assert_frame_equal(one.pivot[metric], other.pivot[metric], check_dtype=False)
        assert {name: repr(value) for name, value in vars(one.ranks[metric]).items()} == {
            name: repr(value) for name, value in vars(other.ranks[metric]).items()
        }
    pd.testing.assert_frame_equal(one.costs, other.costs, check_dtype=False)
    pd.testing.assert_frame_equal(one.runs, other.runs, check_dtype=False)


def test_the_frames_of_a_study(outcomes: Any) -> None:
    made = outcomes()
    tables = tables_of(made, [NDCG, RECALL], "popularity")
    assert tables.chains == ("popularity", "ease", "slim_5", "knn")
    assert tables.worlds == ("films", "beauty", "news")
    assert tables.seeds == (0, 1)
    finished = {
        world: {
            chain: {one.cell.seed: one.evaluation for one in made if (one.cell.chain, one.cell.world) == (chain, world)}
            for chain in tables.chains
        }
        for world in tables.worlds
    }
    expected = study_table(finished, NDCG, "popularity")
    pd.testing.assert_frame_equal(tables.pivot[NDCG], expected)
    assert list(expected.columns) == list(COLUMNS)
    wide = tables.wide(NDCG)
    assert (list(wide.index), list(wide.columns)) == (list(tables.chains), list(tables.worlds))
    mean = np.mean([run.means[NDCG] for run in finished["beauty"]["ease"].values()])
    assert wide.loc["ease", "beauty"] == pytest.approx(mean)
    assert tables.ranks[NDCG].ranks["ease"] == pytest.approx(wide.rank(ascending=False).loc["ease"].mean())
    assert (list(tables.costs.columns), list(tables.runs.columns)) == (list(COSTS), [*RUNS, NDCG, RECALL])
    assert tables.costs[["seconds", "memory", "n_seeds"]].drop_duplicates().to_numpy().tolist() == [[2.0, 3e6, 2.0]]
    assert tables.runs.loc[0, ["chain", "seed", "overrides"]].tolist() == [
        "popularity",
        0,
        "retriever=popularity seed=0",
    ]
    assert tables.runs.loc[0, NDCG] == made[0].evaluation.means[NDCG]
    assert tables.cautions == ()


def test_a_failed_cell_is_a_dash_with_its_reason(outcomes: Any) -> None:
    tables = tables_of(outcomes(failed=ALL_OF_NEWS | {("knn", "films", 1)}), [NDCG], "popularity")
    rows = {(row["chain"], row["world"]): row for row in tables.pivot[NDCG].to_dict("records")}
    assert math.isnan(rows["ease", "news"]["mean"])
    assert rows["ease", "news"]["reason"].startswith("2 of 2 seeds failed: it broke")
    assert rows["knn", "films"]["n_seeds"] == 1
    assert rows["knn", "films"]["reason"].startswith("1 of 2 seeds failed: it broke")
    assert rows["knn", "beauty"]["reason"] == ""
    assert tables.cautions == ("3 of 24 runs failed: knn in films, ease in news",)
    assert tables.ranks[NDCG].left_out == {"ease": "no figure in news"}
    costs = tables.costs.set_index(["chain", "world"]).loc[("ease", "news")]
    assert math.isnan(costs["seconds"])
    assert costs["n_seeds"] == 0
    assert tables.averages(NDCG).isna().to_dict() == {
        "popularity": False,
        "ease": True,
        "slim_5": False,
        "knn": False,
    }


def test_what_everything_failed_leaves(outcomes: Any) -> None:
    failed = frozenset((one.cell.chain, one.cell.world, one.cell.seed) for one in outcomes())
    tables = tables_of(outcomes(failed=failed), [NDCG], "popularity")
    assert tables.pivot[NDCG]["mean"].isna().all()
    assert tables.ranks[NDCG].untested == "no chain has a figure in every world"
    same(of_document(json.loads(json.dumps(tables.document()))), tables)


def test_cautions_name_small_worlds_other_cards_and_what_is_not_tested(outcomes: Any) -> None:
    made = outcomes(worlds=2, failed=frozenset({("popularity", "films", 0), ("popularity", "films", 1)}))
    few = [
        one
        if one.evaluation is None or one.cell.world == "films"
        else replace(
            one,
            evaluation=replace(
                one.evaluation,
                users=one.evaluation.users[:9],
                values={name: values[:9] for name, values in one.evaluation.values.items()},
                rules={"truth": "x", "seen": one.cell.chain == "knn"},
            ),
        )
        for one in made
    ]
    cautions = tables_of(few, [NDCG], "popularity").cautions
    assert "fewer than 30 users, so intervals and tests say little: beauty" in cautions
    assert any("beauty: the protocol cards of popularity and knn differ" in one for one in cautions)
    assert "beauty: seen: false vs true" in cautions
    assert any(
        one.startswith(f"{NDCG}: not tested against the baseline: ease in films (that one did") for one in cautions
    )
    assert (
        "the baseline other is none of the chains, so nothing is held against it"
        in tables_of(few, [NDCG], "other").cautions
    )


def test_chains_whose_seeds_agree_are_named(outcomes: Any) -> None:
    made = outcomes(worlds=2, chains=3)
    first = {(one.cell.chain, one.cell.world): one.evaluation for one in made if one.cell.seed == 0}
    same = [
        replace(one, evaluation=first[one.cell.chain, one.cell.world])
        if one.cell.chain == "popularity" or (one.cell.chain, one.cell.world) == ("ease", "films")
        else one
        for one in made
    ]
    assert tables_of(same, [NDCG], None).cautions == (
        "the same figures with every seed, so that a spread of 0 says nothing: popularity",
    )
    assert tables_of(same[::2], [NDCG], None).cautions == (), "of one seed there is no spread"


def test_passwords_in_overrides_are_hidden(outcomes: Any) -> None:
    made = outcomes(chains=1, worlds=1, seeds=1)
    cell = replace(made[0].cell, overrides=("dataset.path=s3://me:secret@host/x",))
    assert "secret" not in str(tables_of([replace(made[0], cell=cell)], [NDCG], None).document())


@pytest.mark.parametrize("average", [False, True])
def test_a_file_gives_the_same_tables(outcomes: Any, average: bool) -> None:
    tables = tables_of(outcomes(failed=ALL_OF_NEWS), [NDCG, RECALL], "popularity", average=average)
    same(of_document(json.loads(json.dumps(tables.document()))), tables)
