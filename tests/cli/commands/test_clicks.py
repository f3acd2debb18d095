"""``recx clicks`` prints and writes what ``recx.clicks.fit`` returns, and every mistake is one sentence and code 2."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

import recx
from recx.cli import main
from recx.cli.commands import clicks

LOG = "session,query,item,rank,clicked\ns,q,a,1,0\ns,q,b,2,1\nt,q,b,1,0\nt,q,a,2,0\nu,r,a,1,1\nu,r,b,2,0\n"
NAMES = {"list": "session", "position": "rank"}
WORDS = ["log.csv", "--columns", "list=session,position=rank"]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("log.csv").write_text(LOG, encoding="utf-8")


@pytest.mark.parametrize("model", ["cascade", "sdbn", "dbn"])
def test_it_prints_and_writes_what_python_gives(model: str, capsys: pytest.CaptureFixture[str]) -> None:
    found = recx.clicks.fit("log.csv", model, columns=NAMES, smoothing=2)  # type: ignore[arg-type]
    for name in ("worth.csv", "worth.parquet"):
        assert clicks.run([*WORDS, "--model", model, "--smoothing", "2", "--output", name]) == 0
        assert capsys.readouterr().out.strip() == str(found).strip()
        written = pd.read_csv(name) if name.endswith("csv") else pd.read_parquet(name)
        pd.testing.assert_frame_equal(written, found.items, check_dtype=False)


def test_what_it_writes_is_judged_by(capsys: pytest.CaptureFixture[str]) -> None:
    clicks.run([*WORDS, "--output", "worth.csv"])
    grades = recx.clicks.fit("log.csv", columns=NAMES).grades()
    lists = pd.DataFrame({"user": ["q", "q", "r"], "item": ["a", "b", "b"], "rank": [1, 2, 1]})
    columns = {"user": "query", "grade": "relevance"}
    of_file = recx.evaluate(lists, "worth.csv", ["err_prob"], columns=columns).means
    assert of_file == pytest.approx(recx.evaluate(lists, grades, ["err_prob"]).means)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["log.csv"], "log.csv: column 'position' is missing, and the order of the rows could be"),
        ([*WORDS, "--continuation", "2"], "continuation=2.0: it must be"),
        ([*WORDS, "--output", "worth.txt"], "--output worth.txt: its name must end in .csv or .parquet"),
        (["log.csv", "--columns", "rank"], "--columns rank: write ROLE=COLUMN for each"),
        (["none.csv"], "none.csv"),
    ],
)
def test_a_mistake_is_one_sentence(
    words: list[str], message: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["recx", "clicks", *words])
    assert main.main() == 2
    said = capsys.readouterr().err
    assert message in said
    assert said.count("\n") == 1
