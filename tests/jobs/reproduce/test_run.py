from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from recx.cli.commands import reproduce as command
from recx.core.errors import InputError
from recx.jobs.reproduce import spec
from recx.jobs.reproduce.run import last, reproduce

QUIET = ("tracker=console", "jobs=1")


def test_a_made_up_reproduction_runs_to_its_end(
    write: Callable[..., str], folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    file = write()
    assert last(spec.load(file)).verdict == "not run here"
    code = command.run([file, f"data={folder}", *QUIET, "--json"])
    told = json.loads(capsys.readouterr().out)
    assert code == 1  # a figure differs
    assert told["verdict"] == "1 reproduced, 1 differs, 1 not run here"
    assert [one["measured"] for one in told["figures"]] == [0.0, 0.0, None]
    assert [one["verdict"] for one in told["figures"]] == ["reproduced", "differs", ""]
    known = last(spec.load(file))
    assert (known.here, known.verdict) == (True, told["verdict"])
    assert known.table["verdict"].tolist() == ["reproduced", "differs", ""]
    again = reproduce(file, *QUIET, data=folder)  # what is done is not run again
    assert str(again.rows) == str(known.rows)  # NaN is not equal to itself
    assert "1 of them done before" in capsys.readouterr().out


def test_what_would_change_the_protocol_is_refused(write: Callable[..., str], folder: Path) -> None:
    with pytest.raises(InputError, match=r"ranker.l2=1: it would change the protocol"):
        reproduce(write(), "ranker.l2=1", data=folder)


def test_a_file_of_a_stranger_runs_nothing(write: Callable[..., str], folder: Path) -> None:
    chains = {"kept": ["retriever=popularity", "ranker=callable", "ranker.object=os:system"]}
    with pytest.raises(InputError, match=r"ranker\.object"):
        reproduce(write(chains=chains), *QUIET, data=folder)


def test_lists_of_another_program_are_evaluated(
    write: Callable[..., str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two documents tie: trec_eval takes the one with the larger id first, which is the relevant one."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "run.txt").write_text("q1 Q0 d1 1 0.5 x\nq1 Q0 d2 2 0.5 x\n", encoding="utf-8")
    (tmp_path / "qrels.txt").write_text("q1 0 d1 0\nq1 0 d2 1\n", encoding="utf-8")
    entry = {"world": "a", "origin": "paper", "source": "by hand", "tolerance": 0.0001, "figures": {"mrr": 1.0}}
    nothing = dict.fromkeys(("metrics", "seeds", "chains", "worlds"))
    files = {"where": "https://example.org", "files": {"run.txt": None, "qrels.txt": None}}
    file = write(**nothing, data=files, lists={"a": {"run": "run.txt", "grades": "qrels.txt"}}, expected=[entry])
    assert command.run([file, f"data={tmp_path}"]) == 0
    shown = capsys.readouterr().out
    assert "1 reproduced" in shown
    assert "not compared, since no hash is known: run.txt, qrels.txt" in shown


def test_the_list_shows_all_with_where_to_get_the_data(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert command.run(["list"]) == 0
    shown = capsys.readouterr().out
    assert all(name in shown for name in spec.names())
    assert "where to get the data" in shown
    assert command.run(["list", "--json"]) == 0
    told = {one["name"]: one for one in json.loads(capsys.readouterr().out)}
    assert told["gowalla"]["verdict"] == "not run here"
    assert told["gowalla"]["run"] == ""
    assert told["gowalla"]["data"].startswith("train.txt")


def test_a_list_takes_no_words() -> None:
    with pytest.raises(InputError, match="a list takes no words"):
        command.run(["list", "jobs=2"])
