"""``recx report``: a run's page made again, and pages of several runs and of benchmarks."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import recx
from recx.cli.commands.report import run
from recx.core.errors import InputError
from recx.core.evaluation import Evaluation
from recx.jobs.benchmark.page import benchmark_data, write_page
from recx.jobs.study.cells import Cell, CellOutcome
from recx.jobs.study.output import write_outputs
from recx.jobs.study.tables import tables_of

SMALL = ["tracker=console", "dataset.readers=200", "dataset.articles=100"]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(home)
        recx.run(["+experiment=news", *SMALL, "name=one"])
        recx.run(["+experiment=news", *SMALL, "name=two", "ranker=identity", "seed=1", "dataset.seed=0"])
    return home


@pytest.fixture
def runs(home: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Path]:
    monkeypatch.chdir(home)
    return {path.name.rpartition("_")[2]: path for path in home.glob("outputs/2*/*")}


def test_the_page_of_a_run_is_made_again_from_its_story(
    runs: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    page = runs["one"] / "report.html"
    before = page.read_bytes()
    page.unlink()
    assert run([str(runs["one"])]) == 0
    assert capsys.readouterr().out.strip() == str(page)
    assert page.read_bytes() == before
    run(["last", "--output", "there/page.html"])
    assert Path("there/page.html").read_bytes() == (runs["two"] / "report.html").read_bytes()


@pytest.mark.parametrize("name", ["mine", "outputs/studies/mine", "studies/mine"])
def test_the_page_of_a_study_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    users, metric = np.arange(40), "end_to_end/ndcg_at_10"
    outcomes = [
        CellOutcome(Cell(chain, "news", 0, ()), None, Evaluation(users, {metric: users / high}), 1.0, 1)
        for chain, high in (("a", 40), ("b", 80))
    ]
    folder = Path("outputs", "studies", "mine")
    write_outputs("mine", tables_of(outcomes, [metric], "a"), folder)
    before = (folder / "study.html").read_bytes()
    (folder / "study.html").unlink()
    assert run([name]) == 0
    assert capsys.readouterr().out.strip() == str(folder / "study.html")
    assert (folder / "study.html").read_bytes() == before
    (folder / "summary" / "study.json").write_text("{}")
    with pytest.raises(InputError, match="is damaged"):
        run([name])


def test_several_runs_stand_side_by_side(runs: dict[str, Path], capsys: pytest.CaptureFixture[str]) -> None:
    assert run([str(runs["one"]), str(runs["two"])]) == 0
    path = Path(capsys.readouterr().out.strip())
    assert path.parent == Path("outputs/reports")
    text = path.read_text(encoding="utf-8")
    assert "the protocol cards of" in text  # the seeds differ
    assert "seed: 0 vs 1" in text
    assert "union_news + linear" in text
    assert "union_news + identity" in text
    assert "Quality against time" in text
    for name in ("one", "two"):
        value = json.loads((runs[name] / "metrics.json").read_text())["end_to_end/ndcg_at_5"]
        assert f"{value:.4f}" in text


def test_a_comparison_says_what_compare_says(runs: dict[str, Path], capsys: pytest.CaptureFixture[str]) -> None:
    from recx.cli.commands.compare import run as compare

    both = [str(runs["one"]), str(runs["two"])]
    compare([*both, "--json"])
    rows = json.loads(capsys.readouterr().out)["rows"]
    run([*both, "--output", "both.html"])
    text = Path("both.html").read_text(encoding="utf-8")
    for row in rows:
        assert f'data-value="{row["difference"]}"' in text
        assert f'data-value="{row["p_holm"]}"' in text


def test_seconds_of_reading_from_the_cache_are_no_seconds_of_ranking(
    runs: dict[str, Path], here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copies = {name: here / name for name in ("one", "two")}
    for name, copy in copies.items():
        shutil.copytree(runs[name], copy)
    story = json.loads((copies["two"] / "report.json").read_text())
    rank = next(row for row in story["run"]["stages"] if row["stage"] == "rank")
    retrieve = next(row for row in story["run"]["stages"] if row["stage"] == "retrieve")
    assert (rank["cached"], rank["passes"]) == (0, 1)
    rank["cached"], retrieve["cached"], retrieve["passes"] = 1, 1, 2
    (copies["two"] / "report.json").write_text(json.dumps(story))
    metrics = json.loads((copies["two"] / "metrics.json").read_text())
    (copies["two"] / "metrics.json").write_text(json.dumps({**metrics, "data/cache_hits": 2}))

    def shown() -> str:
        run([*map(str, copies.values()), "--output", "both.html"])
        return Path("both.html").read_text(encoding="utf-8")

    text = shown()
    assert f'data-value="{metrics["time/rank"]}"' not in text
    assert ">from the cache</td>" in text
    assert ">1 of 2 from the cache</td>" in text
    assert text.count("<title>one</title>") == 1  # drawn against seconds of ranking
    assert "<title>two</title>" not in text
    (copies["two"] / "report.json").write_text('{"version": 1}')
    assert f'data-value="{metrics["time/split"]}"' not in shown()  # nobody knows which were read
    for copy, p95 in zip(copies.values(), (1.5, 2.5), strict=True):
        measured = {**json.loads((copy / "metrics.json").read_text()), "latency/p95_ms": p95, "memory/peak_mb": 7}
        (copy / "metrics.json").write_text(json.dumps(measured))
    text = shown()
    assert "p95 latency in ms" in text
    assert "memory: peak mb" in text
    assert "<title>two</title>" in text


def of_ranker(name: str, ndcg: float, p95: float | None, cost: float = 0.0, front: bool = False) -> dict[str, Any]:
    failed = p95 is None
    figures = {"latency/p95_ms": p95, "cost/total": cost, "cost/per_1000_queries": cost}
    return {
        "name": name,
        "reason": "it <b>timed out</b>" if failed else "",
        "quality": {} if failed else {"ndcg_at_10": {"mean": ndcg, "low": ndcg - 0.1, "high": ndcg + 0.1}},
        "figures": {} if failed else figures,
        "balance": None,
        "on_front": front,
    }


def benchmark_of(folder: Path, rankers: list[dict[str, Any]]) -> dict[str, Any]:
    """Write the files of a benchmark, and return what its ``benchmark.json`` holds."""
    test = {"metric": "end_to_end/ndcg_at_10", "slice": "all", "baseline": "fast", "run": "slow", "users": 1200}
    test |= {"mean_baseline": 0.4, "mean_run": 0.9, "difference": 0.5, "difference_low": 0.4, "difference_high": 0.6}
    test |= {"relative": 1.25, "wins": 900, "ties": 200, "losses": 100, "d_z": 1.0}
    test |= {"p_t": 0.001, "p_sign_flip": 0.0002, "p_holm": 0.0003}
    sample = {"queries": 1200, "seed": 3}
    settings = {"quality": "ndcg_at_10", "sample": sample, "warmup": 11, "batch_sizes": [1, 33], "currency": "<EUR>"}
    document = {
        "settings": {**settings, "cost_weight": 1.0},
        "machine": {"cores": 2, "written_at": "2026-11-28T10:00:00+00:00"},
        "queries": 1200,
        "queries_in_all": 1500,
        "documents": 9000,
        "grades": {"0 not relevant": 3},
        "rankers": rankers,
        "tests": [test],
        "conclusions": ["best quality: slow"],
        "cautions": ["few <queries>"],
    }
    folder.mkdir(parents=True)
    (folder / "benchmark.json").write_text(json.dumps(document))
    (folder / "config.yaml").write_text("name: bench\nseed: 5\n")
    (folder / "protocol.json").write_text(json.dumps({"seen": "drop", "versions": {"recx": "0.0.9"}}))
    return document


RANKERS = [
    of_ranker("fast", 0.4, 0.01, cost=0.5, front=True),
    of_ranker("slow", 0.9, 5.0, cost=2.0, front=True),
    of_ranker("cheap", 0.3, 2.0, cost=0.0, front=True),  # neither better nor faster, yet it costs less
    of_ranker("worse", 0.2, 3.0, cost=0.5),
    of_ranker("<i>broken</i>", 0, None),
]


def test_a_benchmark_has_a_page(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = here / "outputs" / "2026-11-28" / "10-00_bench"
    benchmark_of(folder, RANKERS)
    assert run(["last"]) == 0
    assert capsys.readouterr().out.strip() == str(Path("outputs/2026-11-28/10-00_bench/report.html"))
    text = (folder / "report.html").read_text(encoding="utf-8")
    for words in (
        "Benchmark of 5 rankers on 1,200 queries",
        "2026-11-28 10:00:00 UTC",
        "best quality: slow",
        "few &lt;queries&gt;",
        "&lt;i&gt;broken&lt;/i&gt;",
        "it &lt;b&gt;timed out&lt;/b&gt;",
        "slow</bdi> against <bdi",
        "What was run",
        "cost: total in &lt;EUR&gt;",
        "cost of 1,000 queries in &lt;EUR&gt;",
        "a ranker may index",  # what the columns mean
        "0.0.9",
        "Protocol card",
    ):
        assert words in text
    told = {
        "sample.queries": "1200",
        "sample.seed": "3",
        "warmup": "11",
        "batch sizes": "[1, 33]",
        "cost weight": "1.0",
        "currency": "&lt;EUR&gt;",
    }
    for name, value in told.items():
        assert f'<dt>{name}</dt><dd><bdi dir="auto">{value}</bdi></dd>' in text


def test_the_front_of_a_benchmark_is_the_one_that_it_found(here: Path) -> None:
    benchmark_of(here / "bench", RANKERS)
    story = benchmark_data(here / "bench")
    assert [one["title"] for one in story["fronts"]] == ["Quality against latency", "Quality against cost"]
    for one, x in zip(story["fronts"], ("latency/p95_ms", "cost/per_1000_queries"), strict=True):
        assert {point["name"]: (point["x"], point["on_front"]) for point in one["points"]} == {
            row["name"]: (row["figures"][x], row["on_front"]) for row in RANKERS[:4]
        }
    run([str(here / "bench")])
    text = (here / "bench" / "report.html").read_text(encoding="utf-8")
    assert text.count("another is no worse in any respect and better in one") == 2


def test_a_benchmark_that_costs_nothing_has_no_figure_of_cost(here: Path) -> None:
    benchmark_of(here / "bench", [of_ranker("fast", 0.4, 0.01, front=True), of_ranker("slow", 0.9, 5.0, front=True)])
    run([str(here / "bench")])
    text = (here / "bench" / "report.html").read_text(encoding="utf-8")
    assert "Quality against latency" in text
    assert "cost: total" not in text
    assert "Quality against cost" not in text


def test_the_command_of_a_benchmark_stays_when_its_page_is_made_again(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = here / "bench"
    benchmark_of(folder, RANKERS)
    state = {"commit": "0123abc", "dirty": "true"}
    with monkeypatch.context() as patch:
        patch.setattr("recx.jobs.benchmark.page.words", lambda: ["+experiment=rerank_benchmark", "seed=5"])
        patch.setattr("recx.jobs.benchmark.page.git_state", lambda: state)
        write_page(folder)
    before = (folder / "report.html").read_bytes()
    assert b"python -m recx +experiment=rerank_benchmark seed=5" in before
    assert b"0123abc" in before
    run([str(folder)])
    assert (folder / "report.html").read_bytes() == before
    (folder / "report.json").write_text('{"version": 1}')
    with pytest.raises(InputError, match="another version of recx"):
        run([str(folder)])


def test_a_benchmark_cannot_be_compared_or_explained(here: Path) -> None:
    from recx.cli.commands import compare, explain

    benchmark_of(here / "bench", RANKERS)
    for name in ("fast", "slow"):
        (here / "bench" / name).mkdir()
        (here / "bench" / name / "metrics.json").write_text("{}")
    for verb, words in (
        (compare.run, ["bench", "bench"]),
        (explain.run, ["bench", "user=1"]),
    ):
        with pytest.raises(InputError, match="name a ranker, bench/fast or bench/slow"):
            verb(words)


def test_what_cannot_be_shown_is_said_in_a_sentence(runs: dict[str, Path], here: Path) -> None:
    copy = here / "copy"
    shutil.copytree(runs["one"], copy)
    (copy / "report.json").write_text("{")
    with pytest.raises(InputError, match=r"report\.json is damaged"):
        run([str(copy)])
    for other in ('{"version": 1}', "{}", "[]"):
        (copy / "report.json").write_text(other)
        with pytest.raises(InputError, match="another version of recx"):
            run([str(copy)])
    (copy / "report.json").write_text("[1]")
    with pytest.raises(InputError, match=r"report\.json is damaged"):
        run([str(copy)])
    (copy / "report.json").unlink()
    with pytest.raises(InputError, match=r"has no report\.json"):
        run([str(copy)])
    (copy / "benchmark.json").write_text("[]")
    with pytest.raises(InputError, match=r"benchmark\.json cannot be read"):
        run([str(copy)])
    with pytest.raises(InputError, match="no run 'nowhere'"):
        run(["nowhere"])
    with pytest.raises(InputError, match="recx report: the following arguments are required"):
        run([])
