"""``python -m recx doctor``: what is printed, the exit code, and that nothing is written."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from recx.cli import main

SMALL = ["+experiment=news", "dataset.readers=300", "dataset.articles=120"]


@pytest.fixture(autouse=True)
def elsewhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("RECX_DEBUG", raising=False)


def doctor(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr(sys, "argv", ["recx", "doctor", *arguments])
    return main.main()


def test_a_table_is_printed_and_nothing_written(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert doctor(monkeypatch, *SMALL) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert out.startswith("300 users, 120 items, ")
    assert out.splitlines()[0].endswith("; split=leave_last, fold=test")
    assert "\nusers with tied last events " in out
    assert "\x1b" not in out
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("place", [0, 1, len(SMALL)])
def test_json_can_be_read(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], place: int) -> None:
    assert doctor(monkeypatch, *SMALL[:place], "--json", *SMALL[place:]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["users"], told["items"], told["fold"]) == (300, 120, "test")
    by_name = {finding["name"]: finding for finding in told["findings"]}
    assert set(by_name["requests"]) == {"name", "count", "of", "share", "verdict", "why"}
    assert by_name["requests"]["share"] == by_name["requests"]["count"] / 300
    assert by_name["cuts_beyond_catalogue"]["of"] == 4  # 5, 10, 20, 50


def test_a_bad_verdict_is_no_error(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = tmp_path / "clicks.csv"
    file.write_text("user,item,time\n" + "".join(f"{user},{item},1506816000000\n" for user in "abc" for item in "xyz"))
    assert doctor(monkeypatch, "+experiment=table", f"dataset.path={file}", "dataset.time=time") == 0
    out = capsys.readouterr().out
    assert "the order of the rows in the file, not time" in out
    assert "0 bad" not in out


def test_the_fold_is_the_one_that_a_run_would_take(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert doctor(monkeypatch, *SMALL, "fold=predict", "split=by_time", "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert told["fold"] == "predict"
    assert "targets_unseen" not in {finding["name"] for finding in told["findings"]}


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["+experiment=nwes"], "experiment=nwes: there is no such option: did you mean 'news'?"),
        (["split.nn=2"], "split.nn: split has no setting 'nn': did you mean 'n'?"),
        (["n_candidates"], "'n_candidates' cannot be read: write KEY=VALUE"),
        (["--jsn"], "recx doctor: unrecognized arguments: --jsn"),
        (["dataset.path=/nowhere"], "/nowhere"),
        (["runtime.threads=0"], "runtime.threads=0: it must be a positive whole number"),
    ],
)
def test_a_mistake_is_one_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], arguments: list[str], sentence: str
) -> None:
    assert doctor(monkeypatch, *arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert sentence in err
    assert err.count("\n") == 1
