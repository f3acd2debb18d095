"""``recx evaluate`` prints what ``recx.evaluate`` returns, and every mistake is one sentence and exit code 2."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path

import pandas as pd
import pytest

import recx
from recx.cli import main
from recx.cli.commands import evaluate

LISTS = "user,item,score\n1,a,0.9\n1,b,0.8\n2,a,0.3\n2,c,0.3\n4,c,0.3\n"
TRUTH = "user,item,grade\n1,b,1\n2,a,2\n3,a,1\n5,a,0\n"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("run.csv").write_text(LISTS)
    Path("truth.csv").write_text(TRUTH)
    return tmp_path


def test_a_table_with_intervals_and_counts(capsys: pytest.CaptureFixture[str]) -> None:
    assert evaluate.run(["run.csv", "truth.csv", "--metrics", "ndcg,mrr_at_1,coverage", "--k", "1,2"]) == 0
    lines = capsys.readouterr().out.splitlines()
    rows = {line.split()[0]: line.split()[1] for line in lines if line}
    assert float(rows["ndcg_at_1"]) == pytest.approx(1 / 3, abs=1e-4)
    assert float(rows["ndcg_at_2"]) == pytest.approx((1 / math.log2(3) + 1) / 3, abs=1e-4)
    assert float(rows["mrr_at_1"]) == pytest.approx(1 / 3, abs=1e-4)
    assert list(rows)[:6] == ["metric", "ndcg_at_1", "ndcg_at_2", "mrr_at_1", "coverage_at_1", "coverage_at_2"]
    assert "95 % interval over 3 users" in lines[0]
    assert (rows["users_only_in_lists"], rows["users_without_list"], rows["users_without_target"]) == ("1", "1", "1")
    assert float(rows["tied_at_1"]) == pytest.approx(1 / 3, abs=1e-4)
    assert "one value for all users" in next(line for line in lines if line.startswith("coverage_at_1"))


def test_json_is_what_python_gives(capsys: pytest.CaptureFixture[str]) -> None:
    evaluate.run(["run.csv", "truth.csv", "--metrics", "hit,auc", "--k", "1", "--json"])
    told = json.loads(capsys.readouterr().out)
    found = recx.evaluate("run.csv", "truth.csv", ["hit_at_1", "auc"])
    assert told["means"] == found.means
    assert told["notes"] == found.notes
    assert told["intervals"]["hit_at_1"] == list(found.interval("hit_at_1"))
    assert told["protocol"]["on_duplicates"] == "error"


def test_the_options_reach_the_evaluation(capsys: pytest.CaptureFixture[str]) -> None:
    Path("given.csv").write_text("user,item\n1,b\n1,a\n1,a\n2,c\n")
    words = ["given.csv", "truth.csv", "--order", "given", "--on-duplicates", "first", "--rel-threshold", "2"]
    evaluate.run(
        [*words, "--metrics", "hit,err,novelty", "--k", "2", "--max-grade", "2", "--history", "run.csv", "--json"]
    )
    told = json.loads(capsys.readouterr().out)
    assert told["means"]["hit_at_2"] == 0  # only user 2 has a target of grade 2
    assert told["notes"]["users_judged"] == 1
    assert set(told["means"]) == {"hit_at_2", "err_at_2", "novelty_at_2"}


def test_what_a_run_wrote_can_be_judged(capsys: pytest.CaptureFixture[str]) -> None:
    shown = pd.DataFrame({"user": [1, 1], "rank": [1, 2], "item": ["a", "b"], "score": [0.9, 0.8], "x": [2.0, 1.0]})
    shown.to_parquet("recommendations.parquet")
    pd.DataFrame({"user": [1], "item": ["b"]}).to_parquet("truth.parquet")
    evaluate.run(["recommendations.parquet", "truth.parquet", "--metrics", "mrr", "--json"])
    assert json.loads(capsys.readouterr().out)["means"] == {"mrr": 0.5}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["run.csv"], "the following arguments are required: relevance"),
        (["run.csv", "truht.csv"], "no such file; did you mean 'truth.csv'"),
        (["run.csv", "truth.csv", "--metrics", "ndgc"], "did you mean 'ndcg'"),
        (["run.csv", "truth.csv", "--metrics", ","], "--metrics names no metric"),
        (["run.csv", "truth.csv", "--k", "0"], "k must be a whole number from 1 up"),
        (["run.csv", "truth.csv", "--k", "1.5"], "k must be a whole number from 1 up"),
        (["run.csv", "truth.csv", "--order", "scores"], "invalid choice: 'scores'"),
        (["run.csv", "truth.csv", "--metrics", "err"], "needs the highest possible grade"),
        (["run.csv", "truth.csv", "--metrics", "novelty"], "history"),
        (["run.csv", "truth.csv", "--rel-threshold", "9"], "none of the .* targets has a weight that high"),
        (["run.csv", "truth.csv", "--metrics", "logloss", "--order", "given"], 'set order="score"'),
    ],
)
def test_a_mistake_is_one_sentence_and_exit_code_2(
    words: list[str], said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["recx", "evaluate", *words])
    assert main.main() == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert len(told.err.splitlines()) == 1
    assert re.search(said, told.err)


def test_a_metric_without_a_cut_is_not_cut_unless_k_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    for words, names in (
        (["--metrics", "map_trec,mrr_at_1"], ["map_trec", "mrr_at_1"]),
        (["--metrics", "map_trec,mrr_at_1", "--k", "2,3"], ["map_trec_at_2", "map_trec_at_3", "mrr_at_1"]),
        (["--k", "2"], [f"{figure}_at_2" for figure in evaluate.DEFAULT_METRICS]),
        ([], [f"{figure}_at_{k}" for figure in evaluate.DEFAULT_METRICS for k in (5, 10)]),
    ):
        evaluate.run(["run.csv", "truth.csv", *words, "--json"])
        assert list(json.loads(capsys.readouterr().out)["means"]) == names


def test_items_name_more_of_the_catalogue(capsys: pytest.CaptureFixture[str]) -> None:
    Path("items.csv").write_text("item,category\na,x\nb,y\nc,x\nd,x\n")
    words = ["run.csv", "truth.csv", "--metrics", "coverage,category_diversity", "--items", "items.csv", "--json"]
    evaluate.run(words)
    means = json.loads(capsys.readouterr().out)["means"]
    assert means["coverage"] == 3 / 4  # user 4, who has no truth, is not judged
    assert means["category_diversity"] == pytest.approx(1 / 3)  # of users 1, 2, 3 only the first sees two categories
