"""``python -m recx compare`` on runs' folders."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from visible import visible_text

from recx.cli.commands import compare
from recx.core.errors import InputError

QUICK = ["--resamples", "50"]


def write_run(folder: Path, seed: int, seen: str = "drop") -> None:
    folder.mkdir(parents=True)
    rng = np.random.default_rng(seed)
    pd.DataFrame(
        {
            "user": np.arange(40),
            "end_to_end/ndcg_at_10": rng.random(40),
            "end_to_end/hit_at_10": rng.integers(2, size=40).astype(float),
            "ranking/hit_at_10": np.where(rng.random(40) < 0.2, np.nan, 1.0),
            "slice/history_length": np.arange(40.0) % 5,
        }
    ).to_parquet(folder / "per_user.parquet")
    metrics = {"end_to_end/ndcg_at_10": 0.5, "end_to_end/coverage": 0.25, "time/total": 1.0, "data/users": 40.0}
    (folder / "metrics.json").write_text(json.dumps(metrics))
    (folder / "config.yaml").write_text("objective: end_to_end/ndcg_at_10\n")
    (folder / "protocol.json").write_text(json.dumps({"seen": seen, "notes": {"seed": seed}}))


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write_run(tmp_path / "outputs/2026-01-01/10-00_news", 1)
    write_run(tmp_path / "outputs/2026-01-02/10-00_news", 2, seen="keep")
    write_run(tmp_path / "outputs/2026-01-02/11-00_other", 3)
    return tmp_path / "outputs"


def test_tables_of_the_end_to_end_line(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert compare.run([str(runs / "2026-01-01/10-00_news"), "last", *QUICK]) == 0
    text = capsys.readouterr().out
    assert text.startswith("11-00_other against 10-00_news\n")
    assert "end_to_end/ndcg_at_10" in text
    assert "end_to_end/hit_at_10" in text
    assert "ranking/" not in text
    assert max(map(len, text.splitlines())) <= 100


def test_json_of_chosen_metrics_and_slices(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["2026-01-01/10-00_news", "2026-01-02/11-00_other", "--metrics", "ranking/hit_at_10, end_to_end/hit_at_10"]
    assert compare.run([*words, "--by", "history_length", "--json", "--level", "0.9", "--seed", "7", *QUICK]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [row["metric"] for row in found["rows"]] == ["ranking/hit_at_10"] * 5 + ["end_to_end/hit_at_10"] * 5
    assert [row["slice"] for row in found["rows"][:5]] == ["all", "0 to 1", "2", "3", "4"][:5]
    assert (found["level"], found["resamples"], found["seed"]) == (0.9, 50, 7)


def test_folders_of_one_name_are_told_apart_and_cards_compared(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    compare.run(["2026-01-01/10-00_news", "2026-01-02/10-00_news", "--json", *QUICK])
    found = json.loads(capsys.readouterr().out)
    assert (found["baseline"], found["runs"]) == ("2026-01-01/10-00_news", ["2026-01-02/10-00_news"])
    assert found["warnings"][1] == "seen: drop vs keep"
    assert not any("seed" in sentence for sentence in found["warnings"])


def test_runs_of_different_folds_are_shown_side_by_side_only_when_asked(
    runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folders = sorted(map(str, runs.glob("*/*")))[:2]
    for folder, fold in zip(folders, ("valid", "test"), strict=True):
        card = json.loads((Path(folder) / "protocol.json").read_text())
        (Path(folder) / "protocol.json").write_text(json.dumps({**card, "fold": fold}))
    with pytest.raises(InputError, match=r"are of different folds \(valid, test\).*--anyway"):
        compare.run([*folders, *QUICK])
    assert compare.run([*folders, *QUICK, "--anyway"]) == 0
    text = " ".join(capsys.readouterr().out.split())  # whatever the width of the terminal
    assert "beside" in text
    assert "nothing is tested" in text
    assert "Holm" not in text
    assert compare.run([*folders, *QUICK, "--anyway", "--html"]) == 0
    assert "Differences" not in capsys.readouterr().out


def test_the_same_run_twice_gives_1(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    compare.run(["last", "last", "--json", *QUICK])
    found = json.loads(capsys.readouterr().out)
    assert (found["baseline"], found["runs"]) == ("11-00_other", ["11-00_other (2)"])
    assert {row["p_holm"] for row in found["rows"]} == {row["p_t"] for row in found["rows"]} == {1.0}


def test_a_page_of_chosen_metrics_and_slices(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["last", "2026-01-01/10-00_news", "--metrics", "ranking/hit_at_10,end_to_end/ndcg_at_10"]
    words += ["--by", "history_length", "--level", "0.9", *QUICK]
    compare.run([*words, "--json"])
    rows = json.loads(capsys.readouterr().out)["rows"]
    compare.run([*words, "--html"])
    page = capsys.readouterr().out
    assert page.startswith("<!doctype html>")
    assert page.count('<bdi dir="auto">ranking: hit at 10</bdi></th><td>') == 5  # all users, and four slices
    assert '<td><bdi dir="auto">0 to 1</bdi></td>' in page
    assert "90 % percentile bootstrap over users, 50 resamples" in page
    assert all(f'data-value="{row["difference"]}"' in page for row in rows)


@pytest.fixture
def three(runs: Path) -> list[str]:
    return [str(folder) for folder in sorted(runs.glob("*/*"))]


def test_a_margin_tests_equivalence(three: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    words = [*three, "--metrics", "end_to_end/ndcg_at_10", "--margin", "0.5", *QUICK]
    compare.run([*words, "--json"])
    found = json.loads(capsys.readouterr().out)
    assert found["margin"] == 0.5
    assert all(row["p_equivalent"] <= row["p_equivalent_holm"] < 0.05 for row in [*found["rows"], *found["pairs"]])
    compare.run(words)
    text = " ".join(capsys.readouterr().out.split())
    assert "lies within ±0.5" in text
    assert "equivalent within the margin: 2026-01-02/10-00_news and 2026-01-01/10-00_news, " in text
    compare.run([*words, "--html"])
    page = capsys.readouterr().out
    assert page.count('<th scope="col" class="number">Equivalent</th>') == 4  # differences, pairs, all pairs, parts
    assert all(f'data-value="{row["p_equivalent_holm"]}"' in page for row in [*found["rows"], *found["pairs"]])


def test_slices_are_looked_at_without_being_asked_for(three: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """A run that is made better for short histories and worse for long ones."""
    path = Path(three[1]) / "per_user.parquet"
    table = pd.read_parquet(three[0] + "/per_user.parquet")
    table["end_to_end/ndcg_at_10"] += np.where(table["slice/history_length"] < 2, 0.5, -0.5)
    table.to_parquet(path)
    words = [*three[:2], "--metrics", "end_to_end/ndcg_at_10", *QUICK]
    compare.run([*words, "--json"])
    found = json.loads(capsys.readouterr().out)
    [sentence] = found["crossings"]["end_to_end/ndcg_at_10"]
    said = (
        "is above 2026-01-01/10-00_news where history length is 0 to 1 (+0.5000, 16 users), and below it where it is 2 "
    )
    assert said in sentence
    assert [row["slice"] for row in found["slices"]] == ["0 to 1", "2", "3", "4"]
    compare.run(words)
    text = " ".join(capsys.readouterr().out.split())
    assert sentence in text
    assert "pairs that change sides: 1." in text
    compare.run([*words, "--html"])
    assert sentence in capsys.readouterr().out


def test_the_page_of_several_runs_names_the_data_and_has_all_pairs(
    three: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    for folder in three:
        (Path(folder) / "config.yaml").write_text("dataset: {_target_: a.table.Table, path: x/clicks.csv}\n")
    compare.run([*three, "--html", *QUICK])
    page = capsys.readouterr().out
    assert "11-00_other against 2026-01-01/10-00_news on clicks.csv</title>" in page
    assert "Of 3 pairs, told apart: none." in page
    assert page.count('<th scope="row"><bdi dir="auto">2026-01-02/11-00_other</bdi></th><td>') == 2 + 4 + 8
    assert "Equivalent" not in page


def test_page_and_tables_speak_in_the_words_of_the_dataset(
    three: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    for folder in three:
        (Path(folder) / "config.yaml").write_text("dataset: {_target_: recx.parts.dataset.judged.Judged}\n")
    more = ["--metrics", "end_to_end/ndcg_at_10", "--margin", "0.5", "--by", "history_length", *QUICK]
    compare.run([*three, *more])
    text = capsys.readouterr().out
    compare.run([*three, *more, "--html"])
    page = visible_text(capsys.readouterr().out)
    for said in (text, page):
        assert "over queries" in said
        assert not re.search(r"\b(users?|items?)\b", said, re.IGNORECASE)


def test_a_page_of_the_end_to_end_line(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    compare.run(["last", "2026-01-01/10-00_news", "--html", *QUICK])
    page = capsys.readouterr().out
    assert "End-to-end figures, every run against 11-00_other" in page
    assert '<td><bdi dir="auto">all</bdi></td>' not in page


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ([], "two runs or more are needed, got 0"),
        (["last"], "two runs or more are needed, got 1"),
        (["last", "2026-01-01/10-00_new"], "did you mean"),
        (["last", "last", "--metrics", "end_to_end/ndgc_at_10"], "did you mean 'end_to_end/ndcg_at_10'"),
        (["last", "last", "--metrics", "end_to_end/coverage"], "one number"),
        (["last", "last", "--by", "age"], "choose one of: history_length"),
        (["last", "last", "--level", "2"], r"level=2\.0"),
        (["last", "last", "--resamples", "many"], "recx compare: argument --resamples"),
        (["last", "last", "--json", "--html"], "not allowed with"),
    ],
)
def test_mistakes_end_in_one_sentence(runs: Path, words: list[str], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        compare.run(words)
