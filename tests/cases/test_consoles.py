"""Every command on a console that knows ASCII only, with ids in Chinese that would also control a terminal.

Public report 35 and fault 09, and variants of them.
"""

from __future__ import annotations

import io
import json
import os
import random
import re
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
from waiting import PATIENCE

from recx.cli import main as cli
from recx.core.errors import InputError
from recx.experiment import saved_runs

USER, ITEM = "\x1b]0;owned\x1b\\\x1b[31m用户{}\u202e", "\x1b[2J\x9b商品{}"
DATA = ("+experiment=table", "dataset.path=日志.csv", "dataset.time=time")
RUN = (*DATA, "tracker=console", "hydra.run.dir=outputs/a/b")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a log of events, and lists made of it."""
    folder, rng = tmp_path_factory.mktemp("控制"), random.Random(0)
    rows = [
        (USER.format(user), ITEM.format(rng.randrange(8)), 1_500_000_000_000 + rng.randrange(10**9))
        for user in range(30)
        for _ in range(6)
    ]
    log = pd.DataFrame(rows, columns=["user", "item", "time"]).drop_duplicates(["user", "item"])
    log.to_csv(folder / "日志.csv", index=False)
    log[["user", "item"]].assign(score=1.0).to_csv(folder / "lists.csv", index=False)
    option = folder / "conf" / "retriever" / "evil.yaml"
    option.parent.mkdir(parents=True)
    option.write_text("# 描述 \x9b2J and more\n_target_: recx.parts.retriever.random.Random\n", encoding="utf-8")
    return folder


def printed(monkeypatch: pytest.MonkeyPatch, *words: str, code: int = 0) -> str:
    """Return what a command prints on both streams; it is ASCII, and controls nothing."""
    out, err = (io.TextIOWrapper(io.BytesIO(), "ascii", write_through=True) for _ in range(2))
    monkeypatch.setattr(sys, "argv", ["recx", *words])
    monkeypatch.setattr(sys, "stdout", out)
    monkeypatch.setattr(sys, "stderr", err)
    assert cli.main() == code, err.buffer.getvalue()  # type: ignore[attr-defined]
    text = "".join(stream.buffer.getvalue().decode("ascii") for stream in (out, err))  # type: ignore[attr-defined]
    assert re.findall(r"[^\n -~]", text) == []
    return text


@pytest.fixture(scope="module")
def run(folder: Path) -> Path:
    """Run the experiment once, as a command."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        text = printed(patch, *RUN)
    assert "are the right items among the candidates?" in text
    return folder


@pytest.mark.parametrize(
    "words",
    [
        ("runs",),
        ("runs", "--csv"),
        ("runs", "--markdown"),
        ("runs", "--latex"),
        ("explain", "last", "--worst", "3"),
        ("explain", "last", "--worst", "3", "--json"),
        ("explain", "last", f"user={USER.format(3)}"),
        ("compare", "last", "last"),
        ("compare", "last", "last", "--json"),
        ("compare", "last", "last", "--html"),
        ("report", "last"),
        ("evaluate", "lists.csv", "lists.csv"),
        ("evaluate", "lists.csv", "lists.csv", "--json"),
        ("doctor", *DATA),
        ("doctor", *DATA, "--json"),
        ("list", "--config-dir", "conf"),
        ("list", "--config-dir", "conf", "retriever"),
        ("cache",),
        ("help",),
        ("evaluate", "--help"),
    ],
    ids=" ".join,
)
def test_commands(run: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]) -> None:
    monkeypatch.chdir(run)
    if "--help" in words:
        with pytest.raises(SystemExit):
            printed(monkeypatch, *words)
        return
    text = printed(monkeypatch, *words)
    if "--json" in words:
        assert json.loads(text)
    if words[0] == "explain" and "--json" not in words:
        assert r"\x1b]0;owned\x1b" in text


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (("explain", "last", "user=x"), r"choose one of: \x1b]0;owned\x1b\\x1b[31m\u7528\u62370\u202e"),
        (("explain", "\x1b[2J", "user=x"), r"'\x1b[2J'"),
        (("\x1b[31mred",), r"unknown command '\x1b[31mred'"),
        ((*RUN, "ranker=\x9b2J"), r"\x9b2J"),
        ((*RUN, "dataset.\x1b[2J=3"), r"\x1b[2J"),
        ((*DATA[:1], "dataset.path=商\x1b[2J.csv", "tracker=console"), r"\u5546\x1b[2J.csv"),
        ((*RUN, "dataset.user=\x07bell"), r"\x07bell"),
        (("evaluate", "lists.csv", "lists.csv", "--metrics", "ndcg\x1b[2J"), r"\x1b[2J"),
        (("list", "\x1b[2J"), r"\x1b[2J"),
    ],
    ids=["id", "run", "command", "option", "setting", "file", "column", "metric", "group"],
)
def test_errors(run: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], part: str) -> None:
    monkeypatch.chdir(run)
    try:
        text = printed(monkeypatch, *words, code=2)
    except SystemExit:
        pytest.fail("argparse printed on its own")
    assert part in text
    assert text.count("\n") == 1


def test_a_traceback_is_shown_without_control_characters(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(run)
    monkeypatch.setenv("RECX_DEBUG", "1")
    assert "Traceback" in printed(monkeypatch, "explain", "last", "user=x", code=2)


def test_a_sweep(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(run)
    text = printed(
        monkeypatch, "-m", *RUN[:4], "name=扫\x1b[2J", "dataset.item=item,'\x1b[2Jitem'", "sweep_id=s", code=1
    )
    assert r"\x1b[2J" in text
    assert r"\x1b[2J" in printed(monkeypatch, "runs", "--trials")


def test_ids_stay_what_they_are_in_files(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(run)
    users = saved_runs.load("outputs/a/b").recommendations["user"]
    assert USER.format(3) in set(users)
    with pytest.raises(InputError):
        saved_runs.load("\x1b")


@pytest.mark.slow
@pytest.mark.parametrize("coerced", [True, False])
def test_a_locale_that_knows_ascii_only(run: Path, coerced: bool) -> None:
    """With PYTHONUTF8=0 Python itself would not find the file of a Chinese name."""
    poor = {"LC_ALL": "C", "LANG": "C", "TERM": "dumb", "PYTHONIOENCODING": "ascii"}
    poor |= {} if coerced else {"PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    command = [sys.executable, "-m", "recx", "doctor", *DATA]
    done = subprocess.run(command, cwd=run, env={**os.environ, **poor}, capture_output=True, timeout=PATIENCE)
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.isascii()
    assert b"30 users" in done.stdout
