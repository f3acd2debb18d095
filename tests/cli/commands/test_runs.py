"""``python -m recx runs``: runs of a store and of folders, what sets them apart, filters, order, and forms."""

from __future__ import annotations

import csv
import io
import json
import os
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import yaml
from rich.console import Console

from recx.cli.commands import runs
from recx.core.errors import InputError, RecxError
from recx.core.system.serialize import flat
from recx.experiment import saved_runs
from recx.jobs.history import past_runs
from recx.report.terminal import print_runs as table
from recx.tracking.past_run import differing
from recx.tracking.process import identity

SCHEMA = """
CREATE TABLE experiments (experiment_id INTEGER PRIMARY KEY, name TEXT);
CREATE TABLE runs (run_uuid TEXT PRIMARY KEY, name TEXT, status TEXT, start_time BIGINT, end_time BIGINT,
                   lifecycle_stage TEXT, experiment_id INTEGER);
CREATE TABLE tags (key TEXT, value TEXT, run_uuid TEXT);
CREATE TABLE params (key TEXT, value TEXT, run_uuid TEXT);
CREATE TABLE latest_metrics (key TEXT, value FLOAT, is_nan BOOLEAN, run_uuid TEXT);
INSERT INTO experiments VALUES (1, 'news'), (2, 'tools');
"""
LINEAR = {
    "name": "news",
    "objective": "end_to_end/ndcg_at_5",
    "seed": 0,
    "retriever": {"_target_": "recx.parts.retriever.union.Union", "n": 100},
    "ranker": {"_target_": "recx.parts.ranker.linear.Linear", "l2": 0.1},
    "runtime": {"threads": 1},
}
A, B, C, D, E, F = (f"{digit}" * 32 for digit in "abcdef")
START = 1_790_000_000_000


class Store:
    """A store with the tables of MLflow's that are read."""

    def __init__(self, outputs: Path) -> None:
        outputs.mkdir(parents=True, exist_ok=True)
        self.path = outputs / "mlflow.db"
        with closing(sqlite3.connect(self.path)) as store:
            store.executescript(SCHEMA)

    def add(self, run: str, status: str = "FINISHED", at: int = 0, **more: Any) -> None:
        end = START + at + 2500 if status != "RUNNING" else None
        row = (run, more.get("name", "union + linear"), status, START + at, end, more.get("stage", "active"), 1)
        figures = [
            (key, 0.0 if value != value else value, value != value, run)
            for key, value in more.get("metrics", {}).items()
        ]
        with closing(sqlite3.connect(self.path)) as store, store:
            store.execute("INSERT INTO runs VALUES (?, ?, ?, ?, ?, ?, ?)", row)
            for kind, values in (("tags", more.get("tags", {})), ("params", flat(more.get("config", LINEAR)))):
                rows = [(key, value, run) for key, value in values.items()]
                store.executemany(f"INSERT INTO {kind} VALUES (?, ?, ?)", rows)
            store.executemany("INSERT INTO latest_metrics VALUES (?, ?, ?, ?)", figures)


def write_folder(folder: Path, ndcg: float, config: Any = LINEAR) -> Path:
    folder.mkdir(parents=True)
    metrics = {"end_to_end/ndcg_at_5": ndcg, "retrieval/recall_at_20": 0.5, "time/total": 7.25}
    (folder / "metrics.json").write_text(json.dumps(metrics))
    (folder / "config.yaml").write_text(yaml.safe_dump(config))
    os.utime(folder / "metrics.json", (1_790_000_100, 1_790_000_100))
    return folder


@pytest.fixture
def outputs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return outputs with a finished run, a failed, a dead one, a sweep of two trials, and a run of the console."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TZ", "UTC")
    outputs = tmp_path / "outputs"
    store = Store(outputs)
    metrics = {"end_to_end/ndcg_at_5": 0.25, "retrieval/recall_at_20": 0.5, "retrieval/recall_at_50": 0.75}
    done = write_folder(outputs / "2026-09-21" / "10-00-00_news", 0.25)
    store.add(A, at=1000, metrics=metrics, tags={"recx.folder": str(done)})
    store.add(B, "FAILED", 2000, tags={"recx.reason": "dataset.path=x: no such folder | see"})
    dead = {**identity(), "recx.pid_started": "0"}
    store.add(C, "RUNNING", 3000, tags=dead, config={**LINEAR, "seed": 7})
    best = write_folder(outputs / "sweeps" / "x" / "best", 0.5)
    sweep = {"recx.role": "sweep", "recx.sweep": "x", "recx.varied": "ranker.l2", "recx.folder": str(best)}
    store.add(D, at=4000, name="sweep x", tags=sweep, config={"words": "-m"}, metrics={"end_to_end/ndcg_at_5": 0.5})
    for run, l2 in ((E, "0.01"), (F, "1.0")):
        folder = write_folder(outputs / "sweeps" / "x" / l2, float(l2))
        tags = {"recx.folder": str(folder), "mlflow.parentRunId": D}
        config = {**LINEAR, "ranker": {**LINEAR["ranker"], "l2": float(l2)}}  # type: ignore[dict-item]
        figures = {"end_to_end/ndcg_at_5": float(l2) if run == F else float("nan")}
        store.add(run, at=5000, name=f"ranker.l2={l2}", tags=tags, config=config, metrics=figures)
    store.add("0" * 32, stage="deleted")
    write_folder(outputs / "2026-09-21" / "11-00-00_tools", 0.125, {**LINEAR, "name": "tools"})
    return outputs


def printed(capsys: pytest.CaptureFixture[str], *words: str) -> list[str]:
    assert runs.run(words) == 0
    return capsys.readouterr().out.splitlines()


def as_rows(capsys: pytest.CaptureFixture[str], *words: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO("\n".join(printed(capsys, *words, "--csv")))))


def test_the_table_is_newest_first_and_folds_a_sweep(outputs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = printed(capsys)
    assert lines[0].split() == ["retrieval/", "retrieval/", "end_to_end/"]
    assert lines[1].split() == [
        "id",
        "experiment",
        "what",
        *("recall_at_20", "recall_at_50", "ndcg_at_5"),
        "when",
        "seconds",
        "status",
        "folder",
    ]
    assert [line.split()[0] for line in lines[2:]] == ["2026-09-21/11-00-00_tools", *(run[:8] for run in (D, C, B, A))]
    tools, sweep, dead, failed, done = lines[2:]
    assert tools.split()[1:5] == ["tools", "union", "+", "linear"]
    assert tools.split()[5:8] == ["0.5000", "–", "0.1250"]
    assert "7.2  finished  outputs/2026-09-21/11-00-00_tools" in tools
    assert "sweep x: 2 trials of ranker.l2" in sweep
    assert "union + linear seed=7" in dead
    assert dead.split()[-2:] == ["killed", "–"]
    assert "(dataset.path=x: no such folder | see)" in failed
    assert done.split()[5:8] == ["0.5000", "0.7500", "0.2500"]
    assert done.endswith("2.5  finished  outputs/2026-09-21/10-00-00_news")


def test_trials_are_shown_when_asked_for(outputs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = {row["id"]: row for row in as_rows(capsys, "--trials")}
    assert len(found) == 7
    assert found[F[:8]]["what"] == "union + linear ranker.l2=1.0"
    assert (found[E[:8]]["end_to_end/ndcg_at_5"], found[F[:8]]["end_to_end/ndcg_at_5"]) == ("", "1.0")


def test_every_id_of_a_finished_run_opens_it(outputs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for row in as_rows(capsys, "--trials"):
        if row["status"] == "finished":
            assert saved_runs.load(row["id"]).folder.resolve() == (outputs.parent / row["folder"]).resolve()
    assert saved_runs.load(A).folder == saved_runs.load(A[:8]).folder
    with pytest.raises(InputError, match=r"run bbbbbbbb left no files: it is failed \(dataset.path=x"):
        saved_runs.load(B[:8])


def test_an_ambiguous_beginning_of_an_id_is_refused(outputs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = sqlite3.connect(outputs / "mlflow.db")
    store.execute("UPDATE runs SET run_uuid = ? WHERE run_uuid = ?", ("a" * 10 + "0" * 22, B))
    store.commit()
    store.close()
    assert {row["id"] for row in as_rows(capsys, "--filter", "aaaa")} == {"a" * 11, "a" * 10 + "0"}
    with pytest.raises(InputError, match=r"2 runs of .* an id that begins with aaaaaaaa, .*: give more"):
        saved_runs.load("a" * 8)


@pytest.mark.parametrize(
    ("filters", "ids"),
    [
        (["experiment=tools"], ["2026-09-21/11-00-00_tools"]),
        (["status=failed"], [B[:8]]),
        (["seed=7"], [C[:8]]),
        (["ranker=linear", "status=finished"], ["2026-09-21/11-00-00_tools", A[:8]]),
        (["ranker.l2=0.01"], []),
        (["SWEEP X"], [D[:8]]),
        (["no such"], [B[:8]]),
    ],
)
def test_filters(outputs: Path, capsys: pytest.CaptureFixture[str], filters: list[str], ids: list[str]) -> None:
    words = [word for one in filters for word in ("--filter", one)]
    assert [row["id"] for row in as_rows(capsys, *words)] == ids


@pytest.mark.parametrize(
    ("column", "first", "last"),
    [
        ("end_to_end/ndcg_at_5", "2026-09-21/11-00-00_tools", C[:8]),
        ("-end_to_end/ndcg_at_5", D[:8], C[:8]),
        ("when", A[:8], "2026-09-21/11-00-00_tools"),
        ("-seconds", "2026-09-21/11-00-00_tools", C[:8]),
        ("id", "2026-09-21/11-00-00_tools", D[:8]),
    ],
)
def test_order_with_what_is_missing_last(
    outputs: Path, capsys: pytest.CaptureFixture[str], column: str, first: str, last: str
) -> None:
    ids = [row["id"] for row in as_rows(capsys, "--sort", column)]
    assert ids[0] == first
    assert last in (ids[-1], ids[-2])  # two runs have no figures


def test_chosen_metrics_and_a_limit(outputs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = printed(capsys, "--metric", "time/total", "--limit", "1")
    assert lines[1].split()[3] == "total"
    assert lines[-1] == "1 of 5 runs: --limit 5 shows all"
    assert as_rows(capsys, "--metric", "time/total")[0]["time/total"] == "7.25"


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--sort", "ndcg"], "no run has a column or metric 'ndcg'"),
        (["--metric", "end_to_end/ndcg_at_6"], "did you mean 'end_to_end/ndcg_at_5'?"),
        (["--filter", "ranker.l3=1"], "no run has a setting 'ranker.l3': did you mean 'ranker.l2'?"),
        (["--limit", "0"], "--limit 0: it must be a whole number of rows from 1 up"),
        (["--latex", "--csv"], "not allowed with argument"),
    ],
)
def test_mistakes(outputs: Path, words: list[str], sentence: str) -> None:
    with pytest.raises(InputError, match="^.*" + sentence.replace("?", r"\?")):
        runs.run(words)


def test_markdown_escapes_pipes(outputs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = printed(capsys, "--markdown")
    assert lines[0].startswith("| id | experiment | what | retrieval/recall\\_at\\_20 |")
    assert lines[1] == "| :-- | :-- | :-- | --: | --: | --: | :-- | --: | :-- |"
    [failed] = [line for line in lines if "no such folder" in line]
    assert "no such folder \\| see" in failed
    assert failed.replace("\\|", "").count("|") == lines[1].count("|")


def test_latex_is_a_booktabs_table_with_nothing_that_latex_would_obey(
    outputs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = printed(capsys, "--latex")
    assert lines[:2] == [r"\begin{tabular}{lllrrrlrl}", r"\toprule"]
    assert lines[-2:] == [r"\bottomrule", r"\end{tabular}"]
    assert r"retrieval/recall\_at\_20 & retrieval/recall\_at\_50 & end\_to\_end/ndcg\_at\_5" in lines[2]
    assert all(line.endswith(r" \\") and line.count(" & ") == 8 for line in lines[4:-2])
    assert table.latex({"id": ['50% of a_b & {c} #1 $x^2~\\n <|> "q"', ""]}).splitlines()[4] == (
        r"50\% of a\_b \& \{c\} \#1 \$x\textasciicircum 2\textasciitilde \textbackslash n "
        r"\textless{}\textbar{}\textgreater{} ''q'' \\"
    )


def test_a_terminal_gets_lines_that_fit(outputs: Path) -> None:
    columns = table.cells(past_runs(outputs), ["end_to_end/ndcg_at_5"])

    def shown(**of_console: Any) -> list[str]:
        out = io.StringIO()
        table.print_runs(Console(file=out, color_system=None, **of_console), columns)
        return out.getvalue().splitlines()

    whole, narrow = shown(width=100), shown(width=130, force_terminal=True)
    assert len(whole) == 2 + 5
    assert "folder" in whole[1]
    assert "folder" not in narrow[1]
    assert max(map(len, narrow)) <= 130 < max(map(len, whole))
    assert "folder | see)" in " ".join(" ".join(narrow).split())  # what does not fit goes on below


def test_what_sets_runs_apart(outputs: Path) -> None:
    (outputs / "mlflow.db").unlink()
    usual = {**LINEAR, "feature": {"age": {"unit": "h"}}}
    variants = [
        {**usual, "seed": 3, "runtime": {"threads": 9}},
        {**usual, "split": {"_target_": "recx.parts.split.by_time.ByTime", "window": "1d"}},
        {**usual, "feature": {"age": {"unit": "h"}, "words": {"n": 1, "of": "title"}}},
        {**usual, "feature": {}},
    ]
    for place, config in enumerate([usual, usual, usual, usual, usual, *variants]):
        write_folder(outputs / "2026-10-01" / f"{place}_made", 0.1, config)
    found = [run for run in past_runs(outputs) if run.experiment == "made"]
    apart = differing(sorted(found, key=lambda run: run.id))
    assert [*apart.values()] == [
        "",
        "",
        "",
        "",
        "",
        "seed=3",
        "split=by_time",
        "+feature.words",
        "feature={}",
    ]


def test_an_untracked_sweep_is_one_row(outputs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (outputs / "mlflow.db").unlink()
    trials = outputs / "sweeps" / "x" / "trials"
    trials.mkdir()
    for number, l2 in enumerate(("0.01", "1.0")):
        told = {
            "number": number,
            "words": [f"ranker.l2={l2}"],
            "folder": str(outputs / "sweeps" / "x" / l2),
            "seconds": 1.0,
        }
        told |= {"objective": float(l2), "cached": 0, "reason": "", "pruned": None, "course": {}}
        (trials / f"{number}.json").write_text(json.dumps(told))
    [sweep] = as_rows(capsys, "--filter", "sweep=x")
    assert (sweep["id"], sweep["status"], sweep["folder"]) == ("sweeps/x", "killed", "outputs/sweeps/x/best")
    assert (sweep["what"], sweep["end_to_end/ndcg_at_5"]) == ("sweep x: 2 trials of ranker.l2", "0.5")
    assert len(as_rows(capsys, "--trials")) == 6
    assert saved_runs.load(sweep["id"]).folder == Path("outputs/sweeps/x/best")


def write_trials(outputs: Path, reasons: Sequence[str], *, chooses: bool) -> None:
    """Write the folders and the journal of a sweep without a store; a trial with a reason has failed."""
    trials = outputs / "sweeps" / "x" / "trials"
    trials.mkdir(parents=True)
    for number, reason in enumerate(reasons):
        told = {"number": number, "words": [f"seed={number}"], "folder": f"/moved/x/{number}", "seconds": 1.0}
        told |= {"objective": None if reason else number / 8, "reason": reason, "course": {}}
        (trials / f"{number}.json").write_text(json.dumps(told))
        if not reason:
            config = {**LINEAR, "seed": number, "fold": "test", "allow_tuning_on_test": chooses}
            write_folder(trials.parent / str(number), number / 8, config)


def test_a_plain_comparison_on_test_shows_all_trials_and_no_best(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Before, the sweep's row was that of the trial with the largest figure, which was missing among its trials."""
    write_trials(here / "outputs", ["", "", "it broke", ""], chooses=False)
    [sweep] = as_rows(capsys)
    assert sweep["what"] == "sweep x: 4 trials of seed"
    assert (sweep["id"], sweep["folder"]) == ("sweeps/x", "outputs/sweeps/x")
    assert "end_to_end/ndcg_at_5" not in sweep
    _, *trials = sorted(as_rows(capsys, "--trials"), key=lambda row: row["id"])
    assert [row["id"] for row in trials] == [f"sweeps/x/{number}" for number in range(4)]
    assert [row["end_to_end/ndcg_at_5"] for row in trials] == ["0.0", "0.125", "", "0.375"]
    assert (trials[2]["status"], trials[2]["what"]) == ("failed", "seed=2 (it broke)")
    with pytest.raises(InputError, match="does not hold a finished run"):
        saved_runs.load(sweep["id"])


def test_a_sweep_that_may_choose_on_test_shows_its_best(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_trials(here / "outputs", ["", ""], chooses=True)
    [sweep] = as_rows(capsys)
    assert (sweep["what"], sweep["end_to_end/ndcg_at_5"]) == ("sweep x: 2 trials of seed", "0.125")
    assert len(as_rows(capsys, "--trials")) == 3


def test_a_benchmark_is_one_line_and_its_rankers_are_parts_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    target = {"_target_": "recx.parts.ranker.bm25.Bm25", "k1": 1.2}
    config = {**LINEAR, "benchmark": {"rankers": {"mine": target, "bm25": target}, "warmup": 10}}
    folder = tmp_path / "outputs" / "2026-11-28" / "11-00_speed"
    folder.mkdir(parents=True)
    (folder / "benchmark.json").write_text("{}")
    (folder / "config.yaml").write_text(yaml.safe_dump(config))
    store = Store(tmp_path / "outputs")
    store.add(A, name="benchmark of mine, bm25", config=config, tags={"recx.folder": str(folder)})
    ranked = {"ranker": target}
    for run, name in ((B, "mine"), (C, "bm25")):
        store.add(run, name=name, config=ranked, tags={"mlflow.parentRunId": A}, metrics={"quality/ndcg_at_10": 0.5})
    [whole] = as_rows(capsys)
    assert (whole["id"], whole["what"]) == (A[:8], "benchmark of mine, bm25")
    assert [row["quality/ndcg_at_10"] for row in as_rows(capsys, "--trials")] == ["0.5", "0.5", "0.5"]
    assert saved_runs.tracked_folder(A[:8], tmp_path / "outputs") == str(folder)
    (tmp_path / "outputs" / "mlflow.db").unlink()
    [untracked] = as_rows(capsys)
    assert (untracked["id"], untracked["what"]) == ("2026-11-28/11-00_speed", "benchmark of bm25, mine")


def test_without_runs_it_says_how_to_start_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert runs.run([]) == 0
    assert "no runs under outputs yet" in capsys.readouterr().err


def test_a_file_that_is_not_a_store_is_one_sentence(outputs: Path) -> None:
    (outputs / "mlflow.db").write_text("no database, but long enough to be looked at as one" * 30)
    with pytest.raises(RecxError, match=r"the MLflow store .* cannot be read"):
        runs.run([])


def test_reading_changes_no_store(outputs: Path) -> None:
    def state() -> dict[Path, bytes]:
        return {path: path.read_bytes() for path in outputs.iterdir() if path.is_file()}

    before = state()
    assert runs.run([]) == 0
    saved_runs.load(A)
    assert state() == before


@pytest.mark.slow
def test_a_real_store_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from recx.tracking.mlflow import MLflow

    monkeypatch.chdir(tmp_path)
    with MLflow().run("news", LINEAR) as run:
        run.log_metrics({"end_to_end/ndcg_at_5": 0.5, "ranking/auc": float("nan")})
    with pytest.raises(RecxError, match="broken"), MLflow().run("news", LINEAR):
        raise RecxError("broken")
    failed, done = past_runs(tmp_path / "outputs")
    assert (failed.status, failed.reason, done.status, done.parts) == ("failed", "broken", "finished", "union + linear")
    assert done.metrics["end_to_end/ndcg_at_5"] == 0.5
    assert done.metrics["ranking/auc"] != done.metrics["ranking/auc"]
    assert (done.settings["ranker.l2"], done.id) == ("0.1", run.run_id[:8])


def chosen(retriever: str, fold: str = "test", **settings: str) -> dict[str, Any]:
    """Return the params of a run: options, fold, chosen settings."""
    return {"retriever": retriever, "ranker": "linear", "fold": fold, "n_candidates": "100", **settings}


FIGURES = {"end_to_end/ndcg_at_5": 0.25, "ranking/ndcg_at_5": 0.5, "ranking/users": 40.0, "end_to_end/users": 100.0}


@pytest.fixture
def compact(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    monkeypatch.chdir(tmp_path)
    return Store(tmp_path / "outputs")


def test_figures_of_valid_and_test_never_share_a_column(compact: Store, capsys: pytest.CaptureFixture[str]) -> None:
    valid = {f"valid/{name}": value / 2 for name, value in FIGURES.items()}
    compact.add(A, at=2, config=chosen("popularity"), metrics=FIGURES)
    compact.add(B, at=1, config=chosen("popularity", "valid"), metrics=valid)
    compact.add(C, config={**LINEAR, "fold": "valid"}, metrics=FIGURES)  # as an older recx wrote it
    rows = as_rows(capsys, "--trials")
    assert [row["fold"] for row in rows] == ["test", "valid", "valid"]
    assert [row["end_to_end/ndcg_at_5"] for row in rows] == ["0.25", "", ""]
    assert [row["valid/end_to_end/ndcg_at_5"] for row in rows] == ["", "0.125", "0.25"]


def test_figures_of_the_ranking_stage_stand_beside_their_share_of_users(
    compact: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    compact.add(A, config=chosen("popularity"), metrics=FIGURES)
    [row] = as_rows(capsys, "--metric", "ranking/ndcg_at_5")
    assert (row["ranking/ndcg_at_5"], row["ranking/share_of_users"]) == ("0.5", "0.4")


def test_figures_of_the_ranking_stage_do_not_order_different_retrievers(
    compact: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    compact.add(A, config=chosen("random"), metrics=FIGURES)
    compact.add(B, config=chosen("popularity"), metrics=FIGURES)
    with pytest.raises(InputError, match=r"differ in retriever, .*end_to_end/, or .*--filter retriever=VALUE"):
        runs.run(["--sort", "-ranking/ndcg_at_5"])
    assert len(as_rows(capsys, "--sort", "-ranking/ndcg_at_5", "--filter", "retriever=random")) == 1
    assert len(as_rows(capsys, "--sort", "-end_to_end/ndcg_at_5")) == 2


def test_what_was_chosen_sets_runs_apart(compact: Store, capsys: pytest.CaptureFixture[str]) -> None:
    compact.add(A, at=3, config=chosen("union_news", **{"ranker.l2": "0.1"}), metrics=FIGURES)
    compact.add(B, at=2, config=chosen("union_news"), metrics=FIGURES)
    compact.add(C, at=1, config=chosen("union_news", "valid"))
    assert [row["what"] for row in as_rows(capsys)] == [
        "union_news + linear ranker.l2=0.1",
        "union_news + linear",
        "union_news + linear fold=valid",
    ]


def test_a_setting_that_was_not_chosen_is_found_in_the_configuration(
    compact: Store, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = write_folder(tmp_path / "outputs" / "2026-09-21" / "10-00-00_news", 0.25)
    compact.add(A, config=chosen("union"), metrics=FIGURES, tags={"recx.folder": str(folder)})
    compact.add(B, config=chosen("union"), metrics=FIGURES)
    assert [row["id"] for row in as_rows(capsys, "--filter", "ranker.l2=0.1")] == [A[:8]]


def test_a_study_is_called_one(compact: Store, capsys: pytest.CaptureFixture[str]) -> None:
    sizes = {"chains": "popularity, linear", "worlds": "small", "seeds": "0, 1, 2"}
    tags = {"recx.role": "sweep", "recx.sweep": "ours_2026-09-21"}
    compact.add(A, at=2, name="study ours", config={"study": "ours", **sizes}, tags=tags)
    compact.add(B, at=1, config=chosen("union"), tags={"mlflow.parentRunId": A})
    [row] = as_rows(capsys)
    assert row["what"] == "study ours: 2 chains × 1 worlds × 3 seeds"


def test_a_sweep_shows_the_figures_of_its_best_run(compact: Store, capsys: pytest.CaptureFixture[str]) -> None:
    sweep = {"recx.role": "sweep", "recx.sweep": "x", "recx.varied": "ranker.l2", "recx.folder": "/there/best"}
    compact.add(A, at=3, config=chosen("union_news"), tags=sweep)
    inner = {"mlflow.parentRunId": A}
    compact.add(B, at=2, config=chosen("union_news", "valid", **{"ranker.l2": "0.1"}), tags=inner)
    best = {**inner, "recx.role": "best", "recx.folder": "/there/best"}
    compact.add(C, at=1, config=chosen("union_news", **{"ranker.l2": "0.1"}), tags=best, metrics=FIGURES)
    compact.add(D, at=1, config=chosen("union_news"), tags={**inner, "recx.role": "baseline"})
    [row] = as_rows(capsys)
    assert row["what"] == "sweep x: 1 trials of ranker.l2"
    assert row["end_to_end/ndcg_at_5"] == "0.25"
    rows = {row["id"]: row["what"] for row in as_rows(capsys, "--trials")}
    assert rows[B[:8]] == rows[C[:8]] == "union_news + linear ranker.l2=0.1"


def test_a_benchmark_shows_its_best_ranker_s_figures(compact: Store, capsys: pytest.CaptureFixture[str]) -> None:
    compact.add(A, at=3, config=chosen("given"), tags={"recx.rankers": "bm25, linear", "recx.role": "benchmark"})
    for run, at, ndcg in ((B, 1, 0.5), (C, 2, 0.75)):
        figures = {"quality/ndcg_at_10": ndcg, "latency/p95_ms": 10 * ndcg, "time/fit_s": 1.0}
        compact.add(run, at=at, config=chosen("given"), tags={"mlflow.parentRunId": A}, metrics=figures)
    [row] = as_rows(capsys, "--metric", "quality/ndcg_at_10", "--metric", "latency/p95_ms")
    assert row["what"] == "benchmark of bm25, linear"
    assert (row["quality/ndcg_at_10"], row["latency/p95_ms"]) == ("0.75", "7.5")
