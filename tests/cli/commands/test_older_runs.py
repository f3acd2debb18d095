"""Runs of a recx whose classes had other paths: they are read; only what must build their parts says what moved."""

from __future__ import annotations

import re
import sqlite3
from pathlib import Path

import pytest

import recx
from recx.cli import main as cli
from recx.config.factory import MOVED, RENAMED
from recx.experiment.explain import Reopened
from recx.experiment.saved_runs import SavedRun

pytestmark = pytest.mark.slow
NOW = {now: before for before, now in {**MOVED, **RENAMED}.items()}


def aged(text: str) -> str:
    """Return a configuration with the paths of classes as they were, without what it did not have."""
    for now in sorted(NOW, key=len, reverse=True):
        text = text.replace(f"_target_: {now}", f"_target_: {NOW[now]}")
    return text.replace("lists: all\n", "")


def with_two_files_of_lists(folder: Path) -> None:
    """Write the lists of a run as they were."""
    run = SavedRun(folder)
    run.candidates.to_parquet(folder / "candidates.parquet")
    shown = run.recommendations.drop(columns=["retriever_rank", "retriever_score"])
    shown.to_parquet(folder / "recommendations.parquet")


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a working directory with two runs of the older recx, in their folders and in MLflow's store."""
    home = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(home)
        for ranker in ("linear", "identity"):
            recx.run(["+experiment=news", "dataset.readers=150", "dataset.articles=80", f"ranker={ranker}"])
    for file in home.glob("outputs/2*/*/config.yaml"):
        config = aged(file.read_text(encoding="utf-8"))
        assert "recx.parts" not in config
        assert "lists" not in config
        with_two_files_of_lists(file.parent)
        file.write_text(config, encoding="utf-8")
    oldest = min(home.glob("outputs/2*/*/protocol.json"))
    card = oldest.read_text(encoding="utf-8")
    for now in sorted(NOW, key=len, reverse=True):
        card = card.replace(f'"{now}.', f'"{NOW[now]}.')
    assert "recx.split.leave_last.LeaveLast" in card
    oldest.write_text(card, encoding="utf-8")  # one of the two runs: the other is compared with it
    with sqlite3.connect(home / "outputs" / "mlflow.db") as store:
        for now, before in NOW.items():
            store.execute(
                "UPDATE params SET value = replace(value, ?, ?) WHERE key LIKE '%._target_'", (f"{now}.", f"{before}.")
            )
    store.close()
    return home


def ran(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *words: str
) -> tuple[int, str, str]:
    monkeypatch.chdir(home)
    monkeypatch.setattr("sys.argv", ["recx", *words])
    code = cli.main()
    printed = capsys.readouterr()
    return code, printed.out, printed.err


def test_they_are_read_without_building_their_parts(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = ran(home, monkeypatch, capsys, "runs")
    assert (code, err) == (0, "")
    assert "union_news + linear" in out
    assert "union_news + identity" in out
    runs = sorted(str(path.parent) for path in home.glob("outputs/2*/*/metrics.json"))
    code, out, err = ran(home, monkeypatch, capsys, "compare", *runs, "--metrics", "end_to_end/ndcg_at_5")
    assert (code, err) == (0, "")
    assert "ndcg_at_5" in out
    assert "protocol card" not in out  # the paths of classes make no difference
    for words in (runs[:1], runs):
        code, _, err = ran(home, monkeypatch, capsys, "report", *words)
        assert (code, err) == (0, "")


def test_what_must_build_them_names_both_paths(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run = str(next(home.glob("outputs/2*/*/metrics.json")).parent)
    code, _, err = ran(home, monkeypatch, capsys, "explain", run, "--worst", "3")
    assert code == 2
    assert re.search(r"_target_=recx\.feature\.(\S+): this class is recx\.parts\.feature\.\1 now", err)


def test_what_they_showed_is_explained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = recx.run(["+experiment=news", "dataset.readers=150", "dataset.articles=80", "tracker=console"])
    [folder] = tmp_path.glob("outputs/2*/*")
    user = str(result.interactions.users.ids[result.recommendations.user[0]])
    now = Reopened.of(SavedRun(folder))
    with_two_files_of_lists(folder)
    (folder / "config.yaml").write_text((folder / "config.yaml").read_text().replace("lists: all\n", ""))
    then = Reopened.of(SavedRun(folder))
    assert then.explain(user) == now.explain(user)
    assert then.worst(5) == now.worst(5)
