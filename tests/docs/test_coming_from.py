"""What docs/coming-from shows of other libraries: their documented figures by ours.

RecBole's quick start is among the tests of recx-graph (test_quick_start.py), the models of libraries among those of
recx-bridges (test_pages.py).
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import recx
from recx.jobs.sweep.plan import read as read_sweep

PAGES = Path(__file__).resolve().parents[2] / "docs" / "coming-from"


def text_of(page: str) -> str:
    return (PAGES / f"{page}.md").read_text(encoding="utf-8")


def blocks(page: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", text_of(page), flags=re.DOTALL | re.MULTILINE)


def ran(page: str, **names: Any) -> dict[str, Any]:
    """Return the names of a page's Python after it ran; what is shown of other libraries is fenced as ``py``."""
    found = dict(names)
    for block in blocks(page, "python"):
        exec(block, found)
    return found


@pytest.mark.slow
def test_rectools_docstrings(here: Path) -> None:
    """RecTools 0.19, docstrings of MAP and NDCG in rectools/metrics/ranking.py."""
    rng = np.random.default_rng(0)
    events = pd.DataFrame({"user_id": rng.integers(0, 40, 300), "item_id": rng.integers(0, 25, 300), "weight": 1.0})
    times = pd.Timestamp("2024-01-01") + pd.to_timedelta(np.arange(300), unit="h")
    names = ran("rectools", interactions=events.assign(datetime=times))
    assert 0 < names["result"].metrics["end_to_end/ndcg_rectools_at_10"] < 1
    values = names["found"].per_user.set_index("user")
    assert values["map_trec_at_1"].tolist() == pytest.approx([0, 1, 0.33333333, 0.33333333])
    assert values["map_trec_at_3"].tolist() == pytest.approx([0, 1, 0.55555556, 1])
    assert values["ndcg_rectools_at_1"].tolist() == pytest.approx([0, 1, 1, 1])
    assert values["ndcg_rectools_at_3"].tolist() == pytest.approx([0, 0.46927873, 0.70391809, 1])
    with pd.option_context("display.width", 132):
        assert f"{names['found'].per_user}\n" in blocks("rectools", "text")


def test_lenskits_tests_of_metrics() -> None:
    names = ran("lenskit")
    assert names["found"] == pytest.approx(names["theirs"])
    recs, graded = names["recs"], names["graded"]
    means = recx.evaluate(recs, graded, ["ndcg_lenskit_java", recx.metric("rbp", persistence=0.85)]).means
    assert means == pytest.approx({"ndcg_lenskit_java": 1, "rbp": 0.15 * (1 + 0.85 + 0.85**2)})
    two = names["figure"]([1, 2], [1, 2, 3], "ndcg")
    assert f"`ndcg` has {two:.4f} for the same list" in text_of("lenskit")


def test_the_example_of_ir_measures() -> None:
    [printed] = re.findall(r"prints `\{(.*?)\}`", text_of("pyterrier").replace("\n", " "))
    theirs = {name: float(value) for name, value in (pair.split(": ") for pair in printed.split(", "))}
    names = ran("pyterrier")
    means = names["found"].means
    ours = {"AP": "map_trec", "nDCG": "ndcg", "RR": "mrr", "nDCG@10": "ndcg_at_10"}
    assert {name: means[figure] for name, figure in ours.items()} == pytest.approx(
        {name: theirs[name] for name in ours}, rel=1e-12
    )
    values = names["found"].per_user["precision_of_2_at_10"]  # NaN for the query without a document of grade 2
    assert np.isnan(values).tolist() == [True, False]
    assert means["precision_of_2_at_10"] == pytest.approx(0.1)
    assert values.fillna(0).mean() == pytest.approx(theirs["P(rel=2)@10"])


def test_trec_evals_order_of_ties_is_that_of_falling_ids() -> None:
    """The page: rows in trec_eval's order have its figures, whatever the order in which recx would keep them."""
    run = pd.DataFrame({"qid": "Q", "docno": ["A", "B"], "score": [1.0, 1.0]})
    qrels = pd.DataFrame({"qid": ["Q"], "docno": ["A"], "label": [1]})
    assert recx.evaluate(run, qrels, ["mrr"]).means == {"mrr": 1}
    falling = run.sort_values(["score", "docno"], ascending=False)
    assert recx.evaluate(falling, qrels, ["mrr"]).means == {"mrr": 0.5}


def test_a_sweep_runs_every_combination_and_the_last_setting_varies_fastest() -> None:
    """The README of lightning-hydra-template: six experiments, each with a different combination."""
    [block] = [block for block in blocks("lightning-hydra-template", "") if "ranker.l2=" in block]
    [line] = [line for line in block.splitlines() if "ranker.l2=" in line]
    plan = read_sweep(shlex.split(line.removeprefix("python -m recx -m "))).grid
    assert plan is not None
    varied = [[word for word in trial if word.startswith(("ranker.l2=", "feature="))] for trial in plan.trials]
    [shown] = [block for block in blocks("lightning-hydra-template", "text") if "job 0" in block]
    assert [line.partition("… ")[2].split() for line in shown.splitlines()] == varied
    assert len(varied) == 6
