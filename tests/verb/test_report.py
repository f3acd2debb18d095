"""``recx report``: a run's page made again, and pages of several runs and of benchmarks."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

import recx
from recx.errors import InputError
from recx.verb.report import run

SMALL = ["tracker=console", "dataset.readers=200", "dataset.articles=100"]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(home)
        recx.run(["+experiment=news", *SMALL, "name=one"])
        recx.run(["+experiment=news", *SMALL, "name=two", "ranker=identity", "seed=1"])
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


def test_several_runs_stand_side_by_side(runs: dict[str, Path], capsys: pytest.CaptureFixture[str]) -> None:
    assert run([str(runs["one"]), str(runs["two"])]) == 0
    path = Path(capsys.readouterr().out.strip())
    assert path.parent == Path("outputs/reports")
    text = path.read_text(encoding="utf-8")
    assert "the protocol cards of" in text  # the seeds differ
    assert "seed: 0 vs 1" in text
    assert "union + linear" in text
    assert "union + identity" in text
    assert "Quality against what it takes" in text
    for name in ("one", "two"):
        value = json.loads((runs[name] / "metrics.json").read_text())["end_to_end/ndcg_at_5"]
        assert f"{value:.4f}" in text


def test_a_comparison_says_what_compare_says(runs: dict[str, Path], capsys: pytest.CaptureFixture[str]) -> None:
    from recx.verb.compare import run as compare

    both = [str(runs["one"]), str(runs["two"])]
    compare([*both, "--json"])
    rows = json.loads(capsys.readouterr().out)["rows"]
    run([*both, "--output", "both.html"])
    text = Path("both.html").read_text(encoding="utf-8")
    for row in rows:
        assert f'data-value="{row["difference"]}"' in text
        assert f'data-value="{row["p_holm"]}"' in text


def of_ranker(name: str, ndcg: float, p95: float | None) -> dict[str, Any]:
    failed = p95 is None
    return {
        "name": name,
        "reason": "it <b>timed out</b>" if failed else "",
        "quality": {} if failed else {"ndcg_at_10": {"mean": ndcg, "low": ndcg - 0.1, "high": ndcg + 0.1}},
        "figures": {} if failed else {"latency/p95_ms": p95, "cost/total": 0.0},
        "balance": None,
    }


def test_a_benchmark_has_a_page(runs: dict[str, Path], here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rankers = [of_ranker("fast", 0.4, 0.01), of_ranker("slow", 0.9, 5.0), of_ranker("worse", 0.3, 2.0)]
    document = {
        "settings": {"quality": "ndcg_at_10"},
        "machine": {"cores": 2},
        "queries": 1200,
        "grades": {"0 not relevant": 3},
        "rankers": [*rankers, of_ranker("<i>broken</i>", 0, None)],
        "tests": [],
        "conclusions": ["best quality: slow"],
        "cautions": ["few <queries>"],
    }
    folder = here / "bench"
    folder.mkdir()
    (folder / "benchmark.json").write_text(json.dumps(document))
    run([str(folder)])
    text = (folder / "report.html").read_text(encoding="utf-8")
    assert "Benchmark of 4 rankers on 1,200 queries" in text
    assert "best quality: slow" in text
    assert "few &lt;queries&gt;" in text
    assert "&lt;i&gt;broken&lt;/i&gt;" in text
    assert "it &lt;b&gt;timed out&lt;/b&gt;" in text
    assert "cost: total" not in text  # nothing was asked for it
    assert capsys.readouterr().out.strip() == str(folder / "report.html")


def test_what_cannot_be_shown_is_said_in_a_sentence(runs: dict[str, Path], here: Path) -> None:
    copy = here / "copy"
    shutil.copytree(runs["one"], copy)
    (copy / "report.json").write_text("{")
    with pytest.raises(InputError, match=r"report\.json is damaged"):
        run([str(copy)])
    (copy / "report.json").write_text('{"version": 0}')
    with pytest.raises(InputError, match="another version of recx"):
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
