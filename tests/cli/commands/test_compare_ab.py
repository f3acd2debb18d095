"""``recx compare --ab`` prints what ``recx.ab`` returns, and every mistake is one sentence and code 2."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pandas as pd
import pytest

import recx
from recx.cli import main
from recx.cli.commands import compare, compare_ab

QUICK = ["--resamples", "50", "--draws", "19"]
WORDS = ["--ab", "log.csv", "--columns", "arm=variant", *QUICK]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rows = [
        (user, "AB"[user % 2], f"{user}.{of}", place, int((user * 7 + of * 3 + place) % 5 == 0))
        for user in range(70)
        for of in range(2)
        for place in (1, 2, 3)
    ]
    pd.DataFrame(rows, columns=["user", "variant", "list", "position", "clicked"]).to_csv("log.csv", index=False)


def test_it_prints_what_python_gives(capsys: pytest.CaptureFixture[str]) -> None:
    settings = {"columns": {"arm": "variant"}, "metrics": ["ctr", "mrr"], "mde": "10%", "ratio": "2:1", "power": 0.9}
    found = recx.ab("log.csv", resamples=50, draws=19, seed=3, level=0.9, **settings)  # type: ignore[arg-type]
    words = [*WORDS, "--metrics", "ctr, mrr", "--mde", "10%", "--ratio", "2:1", "--power", "0.9", "--seed", "3"]
    assert compare.run([*words, "--level", "0.9", "--csv"]) == 0
    pd.testing.assert_frame_equal(
        pd.read_csv(io.StringIO(capsys.readouterr().out), keep_default_na=False), found.table, check_dtype=False
    )
    assert compare.run([*words, "--level=0.9", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert [row["difference"] for row in printed["rows"]] == found.table["difference"].tolist()
    assert printed["next_test"][1]["users_control"] == found.power["users_control"][1]
    assert (printed["power"], printed["level"], printed["seed"]) == (0.9, 0.9, 3)
    assert printed["sample_ratio"]["mismatch"] == found.sample_ratio.mismatch


def test_tables_fit_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    assert compare_ab.run(WORDS) == 0
    text = capsys.readouterr().out
    assert text.startswith("B against A\n")
    assert max(map(len, text.splitlines())) <= 100


def test_the_help_names_both_kinds_of_comparison(capsys: pytest.CaptureFixture[str]) -> None:
    for words, said in ((["--help"], "--ab LOG compares the arms"), (["--ab=log.csv", "--help"], "--both-arms")):
        with pytest.raises(SystemExit):
            compare.run(words)
        assert said in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--ab", "log.csv"], "log.csv: column 'arm' is missing; if 'variant' says in which arm a user is"),
        ([*WORDS, "run"], "unrecognized arguments: run"),
        ([*WORDS, "--metrics", "ndcg"], "there is no metric 'ndcg' of an online test"),
        ([*WORDS, "--json", "--csv"], "not allowed with argument"),
        ([*WORDS, "--gaps", "maybe"], "invalid choice: 'maybe'"),
        (["--ab", "none.csv"], "none.csv"),
        (["--ab"], "argument --ab: expected one argument"),
    ],
)
def test_a_mistake_is_one_sentence(
    words: list[str], message: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["recx", "compare", *words])
    assert main.main() == 2
    said = capsys.readouterr().err
    assert message in said
    assert said.count("\n") == 1
