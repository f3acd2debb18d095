"""The benchmark from a configuration to its files; what its sentences say is tested on outcomes made by hand."""

from __future__ import annotations

import csv
import gzip
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from recx.config.compose import compose, plain
from recx.core.chosen import chain
from recx.core.errors import InputError, RecxError
from recx.jobs.benchmark import conclusions, prepare
from recx.jobs.benchmark.machines import machines_of
from recx.jobs.benchmark.outcome import Outcome
from recx.jobs.benchmark.run import benchmark, check

SMALL = ["+experiment=rerank_benchmark", "tracker=console", "dataset.queries=60", "dataset.features=8"]
SAMPLE = "benchmark.sample={queries: 8, seed: 1}"
NO_OTHERS = ["~benchmark.rankers.bm25", "~benchmark.rankers.linear"]
BAD = """
import os, signal
class Raises:
    def rerank(self, query, documents): raise ValueError("no luck")
class Dies:
    def rerank(self, query, documents): os.kill(os.getpid(), signal.SIGKILL)
"""


def configured(*words: str) -> dict[str, Any]:
    return plain(compose([*SMALL, *words]))


def named(name: str, kind: str) -> list[str]:
    return [f"+ranker@benchmark.rankers.{name}=callable", f"benchmark.rankers.{name}.object=bad_rankers:{kind}"]


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> tuple[Outcome, Path]:
    """Return the default benchmark on a sample, and its folder; each ranker is a process, which starts in seconds."""
    folder = tmp_path_factory.mktemp("benchmark")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        return benchmark(configured(SAMPLE), folder / "run"), folder / "run"


@pytest.mark.slow
def test_the_default_benchmark_is_measured_once_and_alike_in_every_order(
    finished: tuple[Outcome, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    first, folder = finished
    monkeypatch.chdir(folder.parent)
    assert [row.name for row in first.rows] == ["identity", "bm25", "linear"]
    assert not first.failed
    identity, bm25, linear = (first.quality(row) for row in first.rows)
    assert identity < bm25 < linear
    again = benchmark(configured(SAMPLE, *NO_OTHERS), folder.parent / "second")
    assert [row.cached for row in again.rows] == [True]
    assert again.rows[0].figures["latency/mean_ms"] == first.rows[0].figures["latency/mean_ms"]
    assert again.rows[0].quality == first.rows[0].quality
    config = configured(SAMPLE, "~benchmark.rankers.bm25", "cache=off")
    settings = {**config["benchmark"], "rankers": dict(reversed(config["benchmark"]["rankers"].items()))}
    settings |= {"warmup": 2, "batch_sizes": None, "budgets": None}
    anew = benchmark({**config, "benchmark": settings}, folder.parent / "third")
    assert [row.name for row in anew.rows] == ["linear", "identity"]
    assert [row.quality for row in anew.rows] == [first.rows[2].quality, first.rows[0].quality]
    for outcome in (first, anew):
        peaks = {row.name: row.figures["memory/peak_mb"] for row in outcome.rows}
        assert peaks["identity"] < min(peaks.values()) + 2, "no measure of memory is exact"


@pytest.mark.slow
def test_mq2008_is_ranked_better_with_more_documents_and_alike_with_other_threads(
    shared_data: Callable[[str], Path], here: Path
) -> None:
    parts = [gzip.decompress(shared_data(f"mq2008/S{number}.txt.gz").read_bytes()) for number in (1, 2, 3)]
    (here / "train.txt").write_bytes(parts[0] + parts[1])
    (here / "test.txt").write_bytes(parts[2])
    words = ["dataset=svmlight", f"dataset.path={here}", "cache=off", "benchmark.budgets=[10, 50]", "tracker=console"]
    words = ["+experiment=rerank_benchmark", *words, "~benchmark.rankers.bm25", "benchmark.batch_sizes=[1, 16]"]
    one, _ = (
        benchmark(plain(compose([*words, f"runtime.threads={threads}"])), here / f"run{threads}") for threads in (1, 2)
    )
    rows = {row.name: row for row in one.rows}
    assert rows["linear"].interval("ndcg_at_5")[0] == pytest.approx(0.689, abs=0.001)  # as benchmarks/README.md says
    first, more = (one.quality(at) for at in one.budgets["linear"])
    assert one.quality(rows["identity"]) < first < more < one.quality(rows["linear"])
    assert [one.quality(at) for at in one.budgets["identity"]] == [one.quality(rows["identity"])] * 2
    assert any(said.startswith("all candidates have the same score") for said in conclusions.cautions(one))
    assert [of["queries_per_call"] for of in rows["linear"].batches] == [1, 16]
    found = machines_of([here / "run1", here / "run2"])
    assert found.comparable[:2] == ["identity", "linear"]  # trees may differ with the threads


@pytest.mark.slow
def test_a_row_of_which_some_was_measured_before_says_so_with_the_older_moment(here: Path) -> None:
    retrievers = ["+retriever@benchmark.retrievers.given=given", "+retriever@benchmark.retrievers.popular=popularity"]
    outcome = benchmark(configured(*retrievers, "~benchmark.rankers.linear"), here / "run")
    assert [row.cached for row in outcome.rows] == [False, True, False, True]  # retrieving, by the row before
    assert outcome.rows[1].measured_at <= outcome.rows[0].measured_at
    said = next(said for said in conclusions.cautions(outcome) if said.startswith("measured before"))
    assert "given + bm25 on" in said
    assert "given + identity on" not in said


@pytest.mark.slow
def test_what_fails_is_a_row_that_says_so_and_the_others_go_on(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (here / "bad_rankers.py").write_text(BAD)
    monkeypatch.syspath_prepend(here)
    more = ["benchmark.parallel={workers: 2}", "cache=off", "+benchmark.cost_per_query.identity=0.5"]
    outcome = benchmark(configured(*NO_OTHERS, *named("dies", "Dies"), *more), here / "run")
    assert [row.reason for row in outcome.rows] == ["", "killed by SIGKILL (out of memory?)"]
    with pytest.raises(RecxError, match="1 of 2 rankers failed: dies"):
        check(outcome)
    assert "latency/mean_ms" not in outcome.rows[0].figures  # side by side
    assert outcome.rows[0].figures["cost/per_1000_queries"] == pytest.approx(500)
    assert outcome.budgets["identity"][0].quality == outcome.rows[0].quality  # the order of the first search
    assert "latency/p95_ms" not in outcome.budgets["identity"][0].figures


def test_a_ranker_that_takes_too_long_is_a_row_that_says_so(here: Path) -> None:
    outcome = benchmark(configured(*NO_OTHERS, "benchmark.timeout_s=0.2"), here / "run")
    assert [row.reason for row in outcome.rows] == ["timed out: it took longer than timeout_s=0.2"]


@pytest.mark.slow
def test_a_run_leaves_its_tables_and_a_folder_a_ranker(finished: tuple[Outcome, Path]) -> None:
    outcome, folder = finished
    rows = list(csv.DictReader((folder / "benchmark.csv").read_text().splitlines()))
    assert [row["name"] for row in rows] == ["identity", "bm25", "linear"]
    assert float(rows[1]["quality/ndcg_at_10"]) == pytest.approx(outcome.quality(outcome.rows[1]))
    document = json.loads((folder / "benchmark.json").read_text())
    assert (document["queries"], document["queries_in_all"]) == (8, 12)
    assert sum(document["grades"].values()) == document["documents"]
    assert sorted(test["run"] for test in document["tests"]) == ["bm25"] * 7 + ["linear"] * 7
    assert document["settings"]["rankers"]["bm25"]["k1"] == 1.2
    assert json.loads((folder / "protocol.json").read_text())["benchmark"]["sample"] == {"queries": 8, "seed": 1}
    assert {row["currency"] for row in document["rankers"]} == {row["currency"] for row in rows} == {"USD"}
    assert any(said.startswith("fewer than 30 users") for said in document["cautions"])
    assert document["cautions"][0].startswith("8 queries are few: the 95 % interval of ndcg_at_10 is up to 0.")
    times = list(csv.DictReader((folder / "bm25" / "latency.csv").read_text().splitlines()))
    mean = sum(int(row["nanoseconds"]) for row in times) / len(times) / 1e6
    assert outcome.rows[1].figures["latency/mean_ms"] == pytest.approx(mean)
    figures = json.loads((folder / "bm25" / "metrics.json").read_text())
    assert figures["latency/mean_ms"] == pytest.approx(mean)
    assert figures["time/rank"] == pytest.approx(mean * len(times) / 1000)


@pytest.mark.slow
def test_the_curves_are_in_the_tables_on_the_page_and_beside_them(finished: tuple[Outcome, Path]) -> None:
    outcome, folder = finished
    document = json.loads((folder / "benchmark.json").read_text())
    [linear] = [row for row in document["rankers"] if row["name"] == "linear"]
    longest = linear["longest"]
    assert [at["k"] for at in linear["budgets"]] == [k for k in (10, 20, 50, 100) if k < longest]
    assert [of["queries_per_call"] for of in linear["batches"]] == [1, 8]  # of 8 queries
    first = linear["budgets"][0]
    assert first["documents"] == sum(min(10, n) for n in _lengths(folder / "linear"))
    assert first["quality"]["ndcg_at_10"]["mean"] != linear["quality"]["ndcg_at_10"]["mean"]
    [row] = [
        row for row in csv.DictReader((folder / "benchmark.csv").read_text().splitlines()) if row["name"] == "linear"
    ]
    assert float(row["budget_10/ndcg_at_10"]) == pytest.approx(first["quality"]["ndcg_at_10"]["mean"])
    assert float(row["budget_10/p95_ms"]) == pytest.approx(first["figures"]["latency/p95_ms"])
    assert float(row["budget_100/ndcg_at_10"]) == pytest.approx(outcome.quality(outcome.rows[2]))  # no list is longer
    assert float(row["batch_8/documents_per_s"]) == pytest.approx(linear["batches"][1]["documents_per_s"])
    assert float(row["throughput/batch_documents_per_s"]) == pytest.approx(float(row["batch_8/documents_per_s"]))
    page = (folder / "report.html").read_text(encoding="utf-8")
    drawn = (folder / "curves.svg").read_text(encoding="utf-8")
    for title in ("Quality by documents", "Latency by documents", "Throughput by queries per call"):
        assert title in page
        assert title in drawn
    assert f'data-value="{first["quality"]["ndcg_at_10"]["mean"]}"' in page


def _lengths(ranker: Path) -> list[int]:
    return [int(row["documents"]) for row in csv.DictReader((ranker / "latency.csv").read_text().splitlines())]


@pytest.mark.slow
def test_a_ranker_with_fewer_documents_is_a_run_that_compare_takes(
    finished: tuple[Outcome, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    from recx.cli.commands import compare

    outcome, folder = finished
    names = [str(folder / "linear"), str(folder / "linear" / "at_10")]
    assert compare.run([*names, "--json", "--metrics", "end_to_end/ndcg_at_10"]) == 0
    [row] = json.loads(capsys.readouterr().out)["rows"]
    assert row["mean_run"] == pytest.approx(outcome.budgets["linear"][0].interval("ndcg_at_10")[0])


@pytest.mark.slow
def test_the_rankers_folders_are_runs_that_compare_takes(
    finished: tuple[Outcome, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    from recx.cli.commands import compare

    _, folder = finished
    names = [str(folder / name) for name in ("identity", "bm25")]
    assert compare.run([*names, "--json", "--metrics", "end_to_end/ndcg_at_10"]) == 0
    [row] = json.loads(capsys.readouterr().out)["rows"]
    assert (row["baseline"], row["run"], row["users"]) == ("identity", "bm25", 8)


@pytest.mark.slow
def test_mlflow_keeps_a_run_of_the_benchmark_and_one_beneath_it_for_every_ranker(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from recx.tracking.store import open_client

    (here / "bad_rankers.py").write_text(BAD)
    monkeypatch.syspath_prepend(here)
    config = configured(*NO_OTHERS, *named("raises", "Raises"), "tracker=mlflow", "cache=off")
    outcome = benchmark(config, here / "run")
    assert "rerank fails" in outcome.rows[1].reason
    client = open_client(f"sqlite:///{here / 'outputs' / 'mlflow.db'}")
    [experiment] = [one for one in client.search_experiments() if one.name == "rerank_benchmark"]
    found = {run.info.run_name: run for run in client.search_runs([experiment.experiment_id])}
    parent = found.pop("benchmark of identity, raises: given on synthetic_judged (made up)")
    names = {f"{name}: given + {name} on synthetic_judged (made up)": name for name in ("identity", "raises")}
    assert set(found) == set(names)
    runs = {names[name]: run for name, run in found.items()}
    assert runs["raises"].data.params["ranker"] == "raises"
    assert {run.data.tags["mlflow.parentRunId"] for run in runs.values()} == {parent.info.run_id}
    assert [runs[name].info.status for name in ("identity", "raises")] == ["FINISHED", "FAILED"]
    assert "no luck" in runs["raises"].data.tags["recx.reason"]
    assert parent.info.status == "FINISHED"
    summary = parent.data.tags["mlflow.note.content"]
    assert summary.startswith("- best quality: identity")
    assert "\n| name | status | quality/" in summary
    assert " | quality/ndcg\\_at\\_10 | " in summary
    assert "| raises | failed | – |" in summary
    figures = runs["identity"].data.metrics
    assert figures["quality/ndcg_at_10"] == pytest.approx(outcome.quality(outcome.rows[0]))
    assert {"latency/p95_ms", "throughput/queries_per_s", "memory/peak_mb", "cost/total"} <= set(figures)
    kept = {file.path for file in client.list_artifacts(parent.info.run_id)}
    assert {"benchmark.csv", "benchmark.json", "curves.svg", "report.html", "rankers.json"} <= kept
    assert {"budget_10/ndcg_at_10", "budget_10/p95_ms", "batch_8/documents_per_s"} <= set(figures)
    assert not kept & {"identity", "raises"}  # their files lie in their own runs
    assert "per_user.parquet" in {file.path for file in client.list_artifacts(runs["identity"].info.run_id)}


@pytest.mark.slow
def test_a_benchmark_of_which_every_ranker_failed_is_failed_in_mlflow_too(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from recx.tracking.store import open_client

    (here / "bad_rankers.py").write_text(BAD)
    monkeypatch.syspath_prepend(here)
    config = configured(*NO_OTHERS, "~benchmark.rankers.identity", *named("raises", "Raises"), "tracker=mlflow")
    assert benchmark(config, here / "run").finished == []
    [parent] = [
        run
        for run in open_client(f"sqlite:///{here / 'outputs' / 'mlflow.db'}").search_runs(["1"])
        if run.data.tags.get("recx.role") == "benchmark"
    ]
    assert parent.info.status == "FAILED"
    assert "all rankers failed, the first since" in parent.data.tags["recx.reason"]


def test_rankers_are_named_added_and_taken_out_on_the_command_line() -> None:
    words = ["+ranker@benchmark.rankers.strict=linear", "benchmark.rankers.strict.l2=1.0", "~benchmark.rankers.bm25"]
    read = prepare.read(configured(*words))
    assert list(read.settings.rankers) == ["identity", "linear", "strict"]
    jobs = read.jobs(Path("/runs"), Path("/cache"), {"threads": 4, "load_before": 1.5})
    assert [job["config"]["ranker"].get("l2") for job in jobs] == [None, 0.0001, 1.0]
    assert {job["config"]["runtime"]["threads"] for job in jobs} == {4}
    assert jobs[2]["folder"] == "/runs/strict"
    assert [chain(job["config"]) for job in jobs] == ["given + identity", "given + linear", "given + strict"]


def test_side_by_side_rankers_share_the_threads() -> None:
    jobs = prepare.read(configured("benchmark.parallel={workers: 4}")).jobs(
        Path("a"), Path("b"), {"threads": 6, "load_before": None}
    )
    assert {job["config"]["runtime"]["threads"] for job in jobs} == {1}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["fold=predict"], "fold=predict"),
        (["benchmark.rankers.linear.l2=-1.0"], "benchmark.rankers.linear.l2=-1.0: it must be 0 or more"),
        (["+benchmark.rankers.mine=3"], "benchmark.rankers.mine names no part"),
        (["+benchmark.rankers.mine._target_=recx.parts.ranker.linear.Lineal"], "no part of that name"),
        (["+benchmark.rankers.mine._target_=recx.parts.retriever.given.Giben"], "no part of that name"),
        (["+benchmark.rankers.mine._target_=recx.parts.feature.words.Length"], "it cannot fit or rank"),
        (["evaluator.end_to_end=[ndcg_at_10]"], "evaluator.end_to_end has no 'ndcg_at_1'"),
        (["benchmark.warmup=many"], "benchmark.warmup=many"),
        (["benchmark.cost_weight=0"], r"benchmark\.cost_weight=0: it must be a number \(above 0\)"),
    ],
)
def test_a_mistake_is_reported_before_any_data_is_read(words: list[str], said: str) -> None:
    with pytest.raises(InputError, match=said):
        prepare.read(configured(*words))


def test_a_package_that_is_not_there_is_left_to_the_rankers_own_row(monkeypatch: pytest.MonkeyPatch) -> None:
    from recx.config import factory

    monkeypatch.setattr(factory, "is_trusted", lambda module: True)
    option = "+benchmark.rankers.mine._target_=no_such_package.ranker.Mine"
    assert list(prepare.read(configured(option)).settings.rankers)[-1] == "mine"


def test_one_chain_is_no_benchmark_and_a_sweep_of_benchmarks_is_refused() -> None:
    import recx

    with pytest.raises(InputError, match="it runs several chains"):
        recx.run(SMALL)


def test_a_typo_is_reported_with_its_key(here: Path) -> None:
    words = ["+experiment=rerank_benchmark", "tracker=console", "benchmark.warmupp=3"]
    root = str(Path(__file__).resolve().parents[3])
    done = subprocess.run(
        [sys.executable, "-m", "recx", *words], capture_output=True, text=True, env={"PYTHONPATH": root}, check=False
    )
    assert done.returncode == 2
    assert "did you mean" in done.stderr
