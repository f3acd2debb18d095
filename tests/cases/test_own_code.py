"""A person's own parts beside their own options: every kind of part, every door, and what a stranger may not do."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest
from waiting import PATIENCE

import recx
from recx.cli import main as cli
from recx.core import project as own_project
from recx.core.errors import InputError

from .conftest import CommandIn

ROOT = Path(__file__).resolve().parents[2]

PARTS = '''
from __future__ import annotations

import json
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd

from own_helpers import FIRST_TIME
from recx.plugin import Interactions, top_k


@dataclass(frozen=True)
class Grid:
    """Dataset: users who click items in steps."""

    users: int = 24
    items: int = 12

    def load(self):
        clicks = [(user, step) for user in range(self.users) for step in range(5)]
        rows = [(u, (3 * u + 5 * step) % self.items, FIRST_TIME + 1000 * step + u) for u, step in clicks]
        return Interactions.from_frame(pd.DataFrame(rows, columns=["user", "item", "time"]))


@dataclass(frozen=True)
class Last:
    """Split: leave_last of recx, under another name."""

    def split(self, interactions, fold):
        from recx.parts.split.leave_last import LeaveLast

        return LeaveLast().split(interactions, fold)


@dataclass(frozen=True)
class Backwards:
    """Retriever: the highest item numbers first."""

    def fit(self, history):
        return Numbers(self, np.arange(history.n_items, dtype=np.float32))


@dataclass(frozen=True, eq=False)
class Numbers:
    """The fitted retriever."""

    settings: Backwards
    numbers: np.ndarray

    def retrieve(self, history, requests, k):
        return top_k(lambda block: np.tile(self.numbers, (len(block), 1)), history, requests, k, "drop")


@dataclass(frozen=True)
class Parity:
    """Feature: 1 for odd items."""

    weight: float = 1.0

    def fit(self, history):
        return self

    def __call__(self, candidates, requests):
        return (self.weight * (candidates.item % 2)).astype(np.float32)


@dataclass(frozen=True)
class Shuffle:
    """Ranker: by a number made of user and item."""

    def rank(self, candidates, history, requests):
        return candidates.reorder(np.cos(candidates.item + 1.0).astype(np.float32))


@dataclass(frozen=True)
class OddShare:
    """Metric: the share of odd items among the first k."""

    k: int = 3

    @property
    def name(self):
        return f"odd_share_at_{self.k}"

    def __call__(self, judged):
        return judged.shown(self.k) / self.k


@dataclass(frozen=True)
class Lines:
    """Tracker: one line per run."""

    file: str = "runs.jsonl"

    @contextmanager
    def run(self, name, params, context):
        kept = {}
        others = ("log_params", "log_curves", "log_tags", "log_table", "log_dataset", "describe", "log_files")
        ignored = {name: lambda *values, **settings: None for name in others}
        yield SimpleNamespace(address="", run_id="", log_metrics=kept.update, **ignored)
        with Path(self.file).open("a") as lines:
            lines.write(json.dumps({"name": name, "n": len(kept)}) + "\\n")


@dataclass(frozen=True)
class Count:
    """Report writer: the number of lists."""

    def write(self, result, folder):
        (folder / "count.txt").write_text(str(result.recommendations.n_lists))
        return folder / "count.txt"


@dataclass(frozen=True)
class Never:
    """Pruner: prunes nothing."""

    def prune(self, course, others):
        return False


@dataclass
class Thawed:
    def load(self): ...


@dataclass(frozen=True)
class Verbless:
    n: int = 1


def function(): ...


from recx.parts.dataset.table import Table as Foreign
from subprocess import Popen
'''

OPTIONS = {
    "dataset/grid": "# a grid of clicks\n_target_: own_parts.kinds.Grid\nusers: 24\nitems: 12\n",
    "split/last": "_target_: own_parts.kinds.Last\n",
    "retriever/backwards": "_target_: own_parts.kinds.Backwards\n",
    "ranker/shuffle": "_target_: own_parts.kinds.Shuffle\n",
    "feature/parity": "parity: {_target_: own_parts.kinds.Parity, weight: 1.0}\n",
    "metric/odd_share": "_target_: own_parts.kinds.OddShare\nk: 3\n",
    "tracker/lines": "_target_: own_parts.kinds.Lines\nfile: runs.jsonl\n",
    "report/count": "_target_: own_parts.kinds.Count\n",
    "pruner/never": "_target_: own_parts.kinds.Never\n",
    "experiment/own": textwrap.dedent("""\
        # @package _global_
        # python -m recx --config-dir conf +experiment=own
        defaults:
          - override /dataset: grid
          - override /split: last
          - override /retriever: backwards
          - override /ranker: shuffle
          - override /feature: parity
          - override /tracker: lines
          - override /report: count
          - override /pruner: never
        name: own
        n_candidates: 8
        evaluator:
          end_to_end: [ndcg_at_5, odd_share_at_3]
        """),
}


def lay_out(home: Path) -> Path:
    """Write a project: own_parts, the module own_helpers beside it, and conf/."""
    (home / "own_parts").mkdir(parents=True)
    (home / "own_parts" / "kinds.py").write_text(PARTS, encoding="utf-8")
    (home / "own_helpers.py").write_text("FIRST_TIME = 1_700_000_000_000\n", encoding="utf-8")
    for name, text in OPTIONS.items():
        file = home / "conf" / f"{name}.yaml"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    return home


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Path]:
    before = list(sys.path)
    yield lay_out(tmp_path / "project")
    sys.path[:] = before
    own_project._appended.clear()
    own_project._former.clear()
    for module in [name for name in sys.modules if name.startswith("own_")]:
        del sys.modules[module]


def recx_in(folder: Path, *words: str, launcher: tuple[str, ...] = ("-m", "recx"), **variables: str):  # type: ignore[no-untyped-def]
    folder.mkdir(exist_ok=True)
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "RECX_DEBUG": "0", "OMP_NUM_THREADS": "1", **variables}
    command = [sys.executable, *launcher, *words]
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=PATIENCE, check=False
    )


SCRIPT = ("-c", "import sys; from recx.cli.main import main; sys.exit(main())")
"""What the console script runs."""


@pytest.mark.slow
@pytest.mark.parametrize("launcher", [("-m", "recx"), SCRIPT], ids=["module", "script"])
def test_every_kind_of_part_runs_from_any_folder(project: Path, tmp_path: Path, launcher: tuple[str, ...]) -> None:
    place = tmp_path / "elsewhere"
    done = recx_in(place, "--config-dir", str(project / "conf"), "+experiment=own", launcher=launcher)
    assert (done.returncode, done.stderr) == (0, "")
    [folder] = place.glob("outputs/*/*_own")
    figures = json.loads((folder / "metrics.json").read_text())
    assert figures["data/users"] == 24
    assert "end_to_end/odd_share_at_3" in figures
    assert (folder / "count.txt").read_text() == "24"
    assert json.loads((place / "runs.jsonl").read_text())["name"] == "own"
    shown = pd.read_parquet(folder / "recommendations.parquet")
    assert set(shown["item"]) <= set(range(12))


@pytest.mark.slow
def test_a_sweep_by_joblib_runs_own_parts_in_its_workers(project: Path) -> None:
    pytest.importorskip("hydra_plugins.hydra_joblib_launcher", reason="the launcher is not installed")
    words = ["-m", "--config-dir=conf", "+experiment=own", "ranker=shuffle,identity", "hydra/launcher=joblib"]
    done = recx_in(project, *words)
    assert (done.returncode, done.stderr) == (0, "")
    table = pd.read_csv(next((project / "outputs" / "sweeps").glob("*/summary/sweep.csv")))
    assert sorted(table["ranker"]) == ["identity", "shuffle"]
    assert table["objective"].notna().all()


def test_python_runs_own_parts_too(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = recx.run("+experiment=own dataset.users=30", config_dir=project / "conf")
    assert result.metrics["data/users"] == 30
    trials = recx.sweep(["+experiment=own", "seed=1,2"], config_dir=[project / "conf"])
    assert list(trials["seed"]) == ["1", "2"]
    assert trials["objective"].notna().all()
    assert all((Path(folder) / "metrics.json").is_file() for folder in trials["folder"])
    with pytest.raises(InputError, match="experiment=own: there is no such option"):
        recx.run("+experiment=own")


def main(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr(sys, "argv", ["recx", *arguments])
    return cli.main()


def test_every_command_that_composes_knows_the_project(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(project)
    conf = ("--config-dir", "conf")
    assert main(monkeypatch, *conf, "+experiment=own") == 0
    capsys.readouterr()
    said = {}
    for name, words in {
        "list": ["list", "dataset"],
        "doctor": ["doctor", "+experiment=own"],
        "explain": ["explain", "last", "user=3"],
        "worst": ["explain", "last", "--worst", "2"],
        "report": ["report", "last"],
        "cache": ["cache"],
        "runs": ["runs"],
    }.items():
        assert main(monkeypatch, *words, *conf) == 0, capsys.readouterr().err
        said[name] = capsys.readouterr().out
    assert "a grid of clicks" in said["list"]
    assert said["doctor"].startswith("24 users, 12 items, 120 events")
    assert said["explain"].startswith("user 3")
    assert said["report"].strip().endswith("report.html")


def test_a_run_with_own_parts_is_reopened_with_the_same_folder(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(project)
    assert main(monkeypatch, "--config-dir", "conf", "+experiment=own") == 0
    [folder] = project.glob("outputs/*/*_own")
    capsys.readouterr()
    assert main(monkeypatch, "explain", str(folder), "user=3") == 2
    said = capsys.readouterr().err
    assert said.startswith(f"{folder / 'config.yaml'}: ")
    assert "._target_=own_parts.kinds." in said
    assert ": parts come from recx only" in said
    assert "--config-dir" in said
    assert said.count("\n") == 1
    assert main(monkeypatch, "report", str(folder)) == 0  # made from files alone


@pytest.mark.slow
def test_own_parts_are_kept_and_read_where_the_project_is_named(project: Path) -> None:
    assert recx_in(project, "--config-dir", "conf", "+experiment=own", "fold=predict").returncode == 0
    [folder] = project.glob("outputs/*/*_own")
    found = recx_in(project, "--config-dir", "conf", "predict", str(folder), "--k", "8", "--output", "top.parquet")
    assert (found.returncode, found.stderr) == (0, "")
    made, kept = pd.read_parquet(folder / "recommendations.parquet"), pd.read_parquet(project / "top.parquet")
    assert kept["item"].tolist() == made["item"].tolist()
    with (project / "own_parts" / "kinds.py").open("a", encoding="utf-8") as file:
        file.write("# edited")
    edited = recx_in(project, "--config-dir", "conf", "predict", str(folder))
    assert edited.returncode == 0
    assert "the code of own_parts.kinds has changed since the run" in edited.stderr
    without = recx_in(project, "predict", str(folder))
    assert without.returncode == 2
    assert "model._target_=own_parts.kinds." in without.stderr
    assert "give --config-dir=DIR" in without.stderr
    assert without.stderr.count("\n") == 1
    for target in ("os.system", "own_evil.Mine"):
        value = folder / "model" / "value.json"
        value.write_text(value.read_text().replace("own_parts.kinds.Numbers", target))
        assert recx_in(project, "--config-dir", "conf", "predict", str(folder)).returncode == 2


def test_a_saved_run_cannot_name_what_the_option_files_do_not(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(project)
    assert main(monkeypatch, "--config-dir", "conf", "+experiment=own") == 0
    [folder] = project.glob("outputs/*/*_own")
    (project / "own_evil.py").write_text("open('imported', 'w').close()\n")
    for target in ("own_evil.Mine", "own_parts.evil.Mine", "own_parts.kinds.Popen", "subprocess.Popen"):
        text = (folder / "config.yaml").read_text()
        (folder / "config.yaml").write_text(text.replace("own_parts.kinds.Grid", target))
        capsys.readouterr()
        assert main(monkeypatch, "--config-dir", "conf", "explain", str(folder), "user=3") == 2
        assert f"dataset._target_={target}: " in capsys.readouterr().err
        (folder / "config.yaml").write_text(text)
    assert not (project / "imported").exists()


ODD = """
import os
from dataclasses import dataclass

@dataclass(frozen=True)
class Mine:
    n: "os.nothing" = 1
    def load(self): ...
"""

REFUSED = {
    "own_parts.kinds.Thawed": "a frozen dataclass",
    "own_parts.kinds.Verbless": "has one of the methods",
    "own_parts.kinds.function": "there is no class of that name",
    "own_parts.kinds.Missing": "there is no class of that name",
    "own_parts.kinds.Foreign": "is defined elsewhere, in recx.parts.dataset.table",
    "own_parts.kinds.Popen": "is defined elsewhere, in subprocess",
    "own_parts.nowhere.Mine": "it cannot be imported",
    "own_parts.broken.Mine": "importing own_parts.broken fails (ZeroDivisionError: division by zero)",
    "own_parts.typo.Mine": "importing own_parts.typo fails (SyntaxError",
    "own_parts.ends.Mine": "importing own_parts.ends fails (SystemExit: 0)",
    "own_parts.odd.Mine": "Mine has an annotation that is no type (module 'os' has no attribute 'nothing')",
    "own_gone.Mine": "there is no module 'own_gone'",
    ".own_parts.kinds.Grid": "there is no module ''",
    "own_parts..kinds.Grid": "it cannot be imported",
    "Grid": "there is no module 'Grid'",
    "json.JSONDecoder": "there is no module 'json'",
    "own_parts.kinds.Shuffle": "it cannot be the dataset",
}


@pytest.mark.parametrize("target", REFUSED)
def test_what_is_no_part_is_refused_in_one_sentence(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], target: str
) -> None:
    monkeypatch.chdir(project)
    (project / "own_parts" / "broken.py").write_text("1 / 0\n")
    (project / "own_parts" / "typo.py").write_text("class Mine\n")
    (project / "own_parts" / "ends.py").write_text("raise SystemExit(0)\n")
    (project / "own_parts" / "odd.py").write_text(ODD)
    (project / "conf" / "dataset" / "odd.yaml").write_text(f"_target_: {target}\n")
    words = ["+experiment=news", "dataset=odd", "tracker=console"]
    assert main(monkeypatch, "--config-dir", "conf", *words) == 2
    said = capsys.readouterr().err
    assert said.startswith(("dataset: Mine", f"dataset._target_={target}: "))
    assert REFUSED[target] in said
    assert said.count("\n") == 1


def test_a_nested_part_of_ones_own_is_held_to_the_same_rule(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(project)
    for target, code in {"own_parts.kinds.Parity": 0, "own_parts.kinds.Popen": 2, "own_parts.kinds.Thawed": 2}.items():
        words = ["+experiment=own", "ranker=linear", f"+feature.more={{_target_: {target}}}"]
        assert main(monkeypatch, "--config-dir", "conf", *words) == code, capsys.readouterr().err


def test_neither_a_search_path_nor_an_option_file_adds_a_root(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(project.parent)
    (project / "own_parts" / "kinds.py").write_text("open('imported', 'w').close()\n" + PARTS)
    stranger = project / "conf"
    assert main(monkeypatch, f"hydra.searchpath=[file://{stranger}]", "dataset=grid", "tracker=console") == 2
    assert "dataset._target_=own_parts.kinds.Grid: parts come from recx" in capsys.readouterr().err
    mine = project.parent / "mine" / "conf"
    mine.mkdir(parents=True)
    (mine / "start.yaml").write_text(
        f"hydra: {{searchpath: ['file://{stranger}']}}\ndefaults: [config, override dataset: grid, _self_]\n"
    )
    assert main(monkeypatch, "--config-dir", str(mine), "--config-name", "start", "tracker=console") == 2
    assert "dataset._target_=own_parts.kinds.Grid: there is no module 'own_parts'" in capsys.readouterr().err
    assert not list(project.parent.rglob("imported"))


def test_an_option_that_recx_has_already_is_refused(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(project)
    for name, way_out in {"retriever/item_knn": "rename yours", "config": "--config-name"}.items():
        file = project / "conf" / f"{name}.yaml"
        file.write_text("_target_: own_parts.kinds.Backwards\n")
        assert main(monkeypatch, "--config-dir", "conf", "list") == 2
        said = capsys.readouterr().err
        assert f"the option {name!r} exists twice" in said
        assert str(file) in said
        assert way_out in said
        file.unlink()


def test_a_primary_configuration_of_ones_own_is_chosen_by_its_name(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(project)
    (project / "conf" / "start.yaml").write_text(
        "defaults: [config, override dataset: grid, override tracker: lines, override retriever: backwards, "
        "override ranker: identity, override feature: parity, _self_]\nname: started\nseed: 3\n"
    )
    conf = ("--config-dir", "conf", "--config-name", "start")
    assert main(monkeypatch, *conf) == 0
    assert main(monkeypatch, *conf, "-m", "dataset.users=24,30") == 0
    assert recx.run(config_dir="conf", config_name="start").metrics["data/users"] == 24
    [first, _] = sorted(project.glob("outputs/2*/*_started/config.yaml"))
    assert "seed: 3" in first.read_text()
    capsys.readouterr()
    assert main(monkeypatch, "--config-dir", "conf", "--config-name", "strat") == 2
    assert capsys.readouterr().err.startswith(
        "--config-name=strat: there is no such primary configuration: did you mean"
    )


TRAP = "import sys, pathlib\npathlib.Path(__file__).with_suffix('.imported').touch()\n"
LIBRARIES = (
    "jinja2",
    "numpy",
    "yaml",
    "rich",
    "pandas",
    "hydra",
    "omegaconf",
    "typing",
    "logging",
    "dataclasses",
)


SWEEP = ["-m", "+experiment=news", "tracker=console", "seed=1,2", "hydra/launcher=joblib", "hydra.launcher.n_jobs=2"]


@pytest.mark.parametrize(
    "words",
    [
        ["report", "."],
        ["list"],
        ["runs"],
        pytest.param(["+experiment=news", "tracker=console"], marks=pytest.mark.slow),
        pytest.param(SWEEP, marks=pytest.mark.slow),
    ],
)
def test_no_file_of_a_strangers_folder_is_imported(tmp_path: Path, words: list[str]) -> None:
    if words == SWEEP:
        pytest.importorskip("hydra_plugins.hydra_joblib_launcher", reason="the launcher is not installed")
    stranger = tmp_path / "stranger"
    stranger.mkdir()
    for library in LIBRARIES:
        (stranger / f"{library}.py").write_text(TRAP)
    size = ["dataset.readers=60", "dataset.articles=50"] if "+experiment=news" in words else []
    done = recx_in(stranger, *words, *size)
    assert "Traceback" not in done.stderr
    assert (done.returncode == 2) == (words[0] == "report")
    assert not list(stranger.glob("*.imported"))


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="needs permissions as on Unix")
@pytest.mark.parametrize("tracker", ["console", pytest.param("mlflow", marks=pytest.mark.slow)])
def test_a_folder_beside_options_that_others_may_write_to_is_not_searched_for_modules(
    tmp_path: Path, tracker: str
) -> None:
    shared = tmp_path / "shared"
    (shared / "conf").mkdir(parents=True)
    (shared / "hydra_plugins").mkdir()
    for module in ("google", "numexpr", "hydra_plugins/theirs"):  # libraries look for all of these
        (shared / f"{module}.py").write_text(TRAP)
    shared.chmod(0o777)
    size = ("dataset.readers=60", "dataset.articles=50", "ranker=identity", f"tracker={tracker}")
    done = recx_in(tmp_path, "--config-dir", str(shared / "conf"), "+experiment=news", *size)
    assert (done.returncode, done.stderr) == (0, "")
    assert not list(shared.rglob("*.imported"))


@pytest.mark.parametrize("words", [("-m", "theirs.train"), ("-Bmtheirs.train",)])
def test_another_program_that_is_started_as_a_module_keeps_its_folder(tmp_path: Path, words: tuple[str, ...]) -> None:
    for file, text in {"__init__": "import recx", "train": "import helpers\nprint(helpers.x)"}.items():
        (tmp_path / "theirs").mkdir(exist_ok=True)
        (tmp_path / "theirs" / f"{file}.py").write_text(text)
    (tmp_path / "helpers.py").write_text("x = 3")
    done = recx_in(tmp_path, launcher=words)
    assert (done.returncode, done.stdout, done.stderr) == (0, "3\n", "")


def test_two_projects_in_one_process_never_share_a_module(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    second = lay_out(tmp_path / "second")
    (second / "own_parts").rename(second / "own_kinds")
    for file in (second / "conf").rglob("*.yaml"):
        file.write_text(file.read_text().replace("own_parts.kinds", "own_kinds.kinds"))
    words = ["+experiment=own", "tracker=console", "cache=off"]
    recx.run(words, config_dir=project / "conf")
    with pytest.raises(InputError, match="the module 'own_helpers' was imported from another project before"):
        recx.run(words, config_dir=second / "conf")
    (second / "own_helpers.py").rename(second / "own_others.py")
    kinds = second / "own_kinds" / "kinds.py"
    kinds.write_text(kinds.read_text().replace("own_helpers", "own_others"))
    for home in (second, project):
        assert recx.run(words, config_dir=home / "conf").metrics["data/users"] == 24


def test_a_sweep_that_somebody_added_a_trial_to_imports_nothing_for_it(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(project)
    words = ["-m", "--config-dir", "conf", "+experiment=own", "seed=1,2", "fold=valid", "sweep_id=mine"]
    assert main(monkeypatch, *words) == 0
    site = project.parent / "site"
    site.mkdir()
    (site / "own_trap.py").write_text(TRAP)
    monkeypatch.syspath_prepend(site)
    [first] = project.glob("outputs/sweeps/mine/trials/*0.json")
    trial = json.loads(first.read_text())
    trial |= {"number": 7, "objective": 1.0}
    trial["words"] += ["ranker=callable", "ranker.object=own_trap:best", "hydra.searchpath=[/]"]
    first.with_name(first.name.replace("0", "7")).write_text(json.dumps(trial))
    capsys.readouterr()
    assert main(monkeypatch, *words) == 1
    assert "names this object, so it is not imported" in " ".join(capsys.readouterr().out.split())
    assert not list(site.glob("*.imported"))


RERANKER = """
class Longest:
    def rerank(self, query, documents):
        return [float(len(text)) for text in documents]

best = Longest()
"""


def test_an_object_may_be_typed_or_named_by_an_own_option_file(
    project: Path, tmp_path: Path, command_in: CommandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = tmp_path / "site"
    site.mkdir()
    (site / "own_site.py").write_text(RERANKER)
    (project / "own_best.py").write_text(RERANKER)
    for name in ("own_site", "own_best"):
        file = project / "conf" / "ranker" / f"{name}.yaml"
        file.write_text(f"_target_: recx.parts.ranker.callable.Callable\nobject: {name}:best\n")
    texts = ["+experiment=rerank", "dataset=synthetic_judged", "dataset.queries=30", "dataset.vocabulary=200"]
    words = [*texts, "feature=documents", "tracker=console", "--config-dir", "conf"]
    monkeypatch.syspath_prepend(site)
    typed = command_in(project, *words, "ranker=callable", "ranker.object=own_site:best")
    assert (typed.code, typed.err) == (0, "")
    own = command_in(project, *words, "ranker=own_best")
    assert (own.code, own.err) == (0, "")
    foreign = command_in(project, *words, "ranker=own_site")
    assert foreign.code == 2
    assert foreign.err.startswith("ranker.object=own_site:best: there is no module 'own_site' in")


@pytest.mark.slow
def test_an_edited_module_is_another_key_of_the_cache(project: Path) -> None:
    words = ["--config-dir", "conf", "+experiment=own"]

    def hits() -> int:
        done = recx_in(project, *words)
        assert (done.returncode, done.stderr) == (0, "")
        newest = max(project.glob("outputs/2*/*/metrics.json"), key=lambda file: file.stat().st_mtime_ns)
        return int(json.loads(newest.read_text()).get("data/cache_hits", 0))

    hits()
    assert hits() > 0
    (project / "own_helpers.py").write_text("FIRST_TIME = 1_600_000_000_000\n", encoding="utf-8")
    assert hits() == 0
