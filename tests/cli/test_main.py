"""What a person types and what comes back: exit codes, one sentence on stderr, help, lists, tab completion."""

from __future__ import annotations

import errno
import importlib.util
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from waiting import PATIENCE

from recx.cli import main
from recx.config import option_sources
from recx.core.errors import RecxError
from recx.core.exit_codes import UNREAD
from recx.core.version import __version__

ROOT = Path(__file__).resolve().parents[2]
TINY = ["+experiment=news", "tracker=console", "dataset.readers=200", "dataset.articles=100"]


def recx(folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    path = {"PYTHONPATH": str(ROOT), "RECX_DEBUG": "0", **environment}
    command = [sys.executable, "-m", "recx", *arguments]
    return subprocess.run(
        command, capture_output=True, text=True, cwd=folder, env={**os.environ, **path}, timeout=PATIENCE, check=False
    )


def run_main(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr(sys, "argv", ["recx", *arguments])
    monkeypatch.setenv("HYDRA_FULL_ERROR", "1")  # restored afterwards
    return main.main()


WRONG = [
    (["lits"], "unknown command 'lits', which is not a KEY=VALUE override either: did you mean 'list'?"),
    (["retriever"], "unknown command 'retriever'"),
    (["list", "retreiver"], "did you mean 'retriever'?"),
    (["ui", "--prot", "3"], "recx ui: unrecognized arguments: --prot:"),
    (["ui", "--port", "x"], "invalid int value: 'x'"),
    (["--foo"], "unrecognized arguments: --foo"),
    (["seed=1", "n_candidates"], "'n_candidates' is not a KEY=VALUE override"),
    (["retriever=item_kn"], "retriever=item_kn: there is no such option: did you mean 'item_knn'?"),
    (["+experiment=nwes"], "experiment=nwes: there is no such option: did you mean 'news'?"),
    (["experiment=news"], "write +experiment=NAME"),
    (["+experment=news"], "did you mean 'experiment'?"),
    (["+retriever=ease"], "write retriever=NAME, without the plus"),
    (["retreiver=item_knn"], "did you mean 'retriever'?"),
    (["retriever=item_knn", "retriever.windw=3"], "retriever.windw: retriever has no setting 'windw'"),
    (["+retriever.windw=3"], "retriever.windw: Union has no such setting"),
    (["n_candidats=50"], "n_candidats: there is no key 'n_candidats': did you mean 'n_candidates'?"),
    (["+n_candidats=50"], "did you mean 'n_candidates'?"),
    (["runtime.threds=2"], "did you mean 'threads'?"),
    (["runtime.threads=0"], "runtime.threads=0: it must be a positive whole number"),
    (["n_candidates=0"], "n_candidates=0: it must be 1 or more"),
    (["n_candidates=1.5"], "n_candidates=1.5: it must be a whole number"),
    (["seed=4294967296"], "seed=4294967296: it must be 0 or more and at most 4294967295"),
    (["ranker.seed=-1"], "ranker.seed=-1: it must be 0 or more"),
    (["name=a/b"], "name=a/b: it is also a folder name: use 1 to 100 characters without slashes"),
    (["name=''"], "name=: it is also a folder name"),
    (["feature.age=null"], "feature.age: it is not a feature"),
    (["+feature.mine=3"], "feature.mine: it is not a feature"),
    (["+feature.mine={_target_: recx.parts.ranker.identity.Identity}"], "feature.mine: it is not a feature"),
    (["~feature"], "feature is not a set of features"),
    (
        ["split=by_time", "split.window=99999999999999999999d"],
        "split.window=99999999999999999999d: it must be a positive",
    ),
    (["retriever=faiss", "retriever.recency=0"], "retriever.recency=0: it must be above 0 and at most 1"),
    (["retriever=item_knn", "retriever.shrink=inf"], "retriever.shrink=inf: it must be a number"),
    (["retriever=ease", "retriever.l2=inf"], "retriever.l2=inf: it must be a number"),
    (["retriever.smoothing=inf"], "retriever.smoothing=inf: it must be a number"),
    (["retriever.weights.faiss=nan"], "retriever.weights.faiss=nan: it must be a number"),
    (["--multirun", "--cfg", "job"], "--hydra-help` shows these flags"),
    (["--resolve"], "--hydra-help` shows these flags"),
    (["-sc"], "--hydra-help` shows these flags"),
    (["n_candidates=[1,"], "'n_candidates=[1,' cannot be read"),
    (["ranker.l2=abc"], "ranker.l2=abc: it must be a number"),
    (["ranker.l2=1,2"], "for one run after the other add -m"),
    (["ranker._target_=os.system"], "ranker._target_=os.system: parts come from recx only"),
    (["ranker._target_=recx.parts.dataset.news.News"], "it cannot be the ranker"),
    (["+hydra.callbacks.x._target_=os.system"], "os.system"),
    (["~retriever"], "retriever is not a part"),
    (["ranker=null"], "a group takes the name of an option"),
    (["fold=tset"], "fold=tset: did you mean 'test'?"),
    (["seed=${sede}"], "sede"),
    (["dataset.path=/nowhere"], "/nowhere"),
    (["hydra.mode=SWEEP"], "hydra.mode=SWEEP: write -m for a sweep, and nothing for a single run"),
    (["-m", "hydra.mode=RUN"], "hydra.mode=RUN: write -m for a sweep, and nothing for a single run"),
    (["--config-d", "conf"], "unrecognized arguments: --config-d"),
    (["-m", "split=glob(x*)"], "split=glob(x*): no option matches: see `python -m recx list split`"),
    (["hydra.searchpath=[/nowhere]"], "hydra.searchpath: /nowhere is not available: name a folder of option files"),
    (["--experimental-rerun", "outputs"], "--experimental-rerun: a run of recx keeps its own config.yaml"),
    (["--config-path", "conf"], "--config-path=conf: recx's own option files always come first"),
    (["--config-dir", "nowhere"], "there is no such folder: name one that holds option files"),
    (["--config-dir"], "--config-dir has no value"),
    (["-cn", "confg"], "--config-name=confg: there is no such primary configuration: did you mean 'config'?"),
    (["hydra/launcher=submitit_slurn"], "hydra/launcher=submitit_slurn: there is no such option"),
    (["dataset.path=a (1),b.csv"], """put it into quotes inside those of the shell: "dataset.path='a (1),b.csv'\""""),
    (["+sweep=ranker"], "+sweep=ranker: this is for a sweep, which runs many trials: put -m in front"),
    (["-m", "ranker=identity,lineer"], "ranker=lineer: there is no such option: did you mean 'linear'?"),
]


@pytest.mark.parametrize(
    ("arguments", "sentence"), WRONG, ids=lambda value: " ".join(value) if isinstance(value, list) else ""
)
def test_a_mistake_is_one_sentence_and_exit_code_2(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    arguments: list[str],
    sentence: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("RECX_DEBUG", raising=False)
    runs = any("=" in word for word in arguments) and (arguments[0] == "-m" or not arguments[0].startswith("-"))
    code = run_main(monkeypatch, *arguments, *(["tracker=console"] if runs else []))
    said = capsys.readouterr().err
    assert code == 2, said
    assert sentence in said
    assert said.count("\n") == 1
    assert not list(tmp_path.rglob("config.yaml"))


def test_a_mistake_seen_from_outside(tmp_path: Path) -> None:
    done = recx(tmp_path, "ranker._target_=os.system")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


def test_debug_shows_the_traceback(tmp_path: Path) -> None:
    done = recx(tmp_path, "n_candidates=0", RECX_DEBUG="1")
    assert done.returncode == 2
    assert "Traceback" in done.stderr


@pytest.mark.parametrize(
    ("error", "code", "sentence"),
    [
        (KeyboardInterrupt(), 130, "interrupted"),
        (RecxError("the ranker lied"), 1, "the ranker lied"),
        (ZeroDivisionError("by 0"), 1, "unexpected error, ZeroDivisionError in"),
    ],
)
def test_other_exit_codes(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    error: BaseException,
    code: int,
    sentence: str,
) -> None:
    def fail(arguments: object) -> int:
        raise error

    monkeypatch.delenv("RECX_DEBUG", raising=False)
    monkeypatch.setattr("recx.cli.commands.list.run", fail)
    assert run_main(monkeypatch, "list") == code
    said = capsys.readouterr().err
    assert said.startswith(sentence)
    assert said.count("\n") == 1


def test_list_prints_one_line_per_option(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_main(monkeypatch, "list", "retriever") == 0
    heading, *lines = capsys.readouterr().out.splitlines()
    assert heading == "retriever"
    options = {name.removeprefix("retriever/") for name in option_sources.options() if name.startswith("retriever/")}
    assert {line.split()[0] for line in lines} == options
    assert all(line.split()[1] == "recx" and len(line.split()) > 3 for line in lines)


@pytest.mark.parametrize(
    "command",
    [
        *("help topics |", "help own-data |", "--help |", "list |", "--cfg=job |", f"{' '.join(TINY)} |"),
        *("list 2>&1 |", "runs 2>&1 |", "lits 2>&1 |"),  # the last two speak on stderr
    ],
)
def test_a_reader_that_closes_the_output_ends_every_command_without_a_word(tmp_path: Path, command: str) -> None:
    line = f"set -o pipefail; {sys.executable} -m recx {command} true"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, cwd=tmp_path, env=environment)
    assert (done.returncode, done.stdout, done.stderr) == (UNREAD, "", "")


@pytest.mark.slow
def test_a_run_continues_without_stdout(tmp_path: Path) -> None:
    command = f"{sys.executable} -m recx {' '.join(TINY)} ranker=identity cache=off >&-"  # as under a service
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, cwd=tmp_path, env=environment)
    assert (done.returncode, done.stderr) == (0, "")
    assert list(tmp_path.glob("outputs/*/*/metrics.json"))


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (PermissionError(errno.EACCES, "no", "outputs/x"), "outputs/x: Permission denied: check the disk"),
        (OSError(errno.ENOSPC, "no"), "No space left on device: check the disk"),
        (OSError("odd"), "odd: check the disk"),
    ],
)
def test_an_error_of_the_system_is_one_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], error: OSError, sentence: str
) -> None:
    def refuse(arguments: object) -> int:
        raise error

    monkeypatch.delenv("RECX_DEBUG", raising=False)
    monkeypatch.setattr("recx.cli.commands.list.run", refuse)
    assert run_main(monkeypatch, "list") == 1
    said = capsys.readouterr().err
    assert said.startswith(sentence)
    assert said.count("\n") == 1


def test_tab_completes_options(tmp_path: Path) -> None:
    done = recx(tmp_path, "-sc", "query=bash", COMP_LINE="recx retriever=it", COMP_POINT="17")
    assert done.stdout.split() == ["retriever=item_knn"]


def test_tab_completion_can_be_installed(tmp_path: Path) -> None:
    done = recx(tmp_path, "-sc", "install=bash")
    assert done.returncode == 0
    assert "complete -o nospace" in done.stdout


def test_the_version_is_ours(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_main(monkeypatch, "--version") == 0
    assert capsys.readouterr().out == f"recx-lab {__version__}\n"


def test_a_mode_of_hydra_is_a_flag_of_ours(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = [*TINY, "ranker=identity", "cache=off"]
    assert run_main(monkeypatch, *words, "hydra.mode=MULTIRUN", "seed=1,2") == 0
    assert len(list(here.glob("outputs/sweeps/*/trials/*.json"))) == 2
    assert run_main(monkeypatch, *words, "hydra.mode=RUN") == 0
    assert len(list(here.glob("outputs/2*/*/metrics.json"))) == 1


def test_a_glob_sweeps_over_the_options_that_match(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_main(monkeypatch, "-m", *TINY, "ranker=identity", "cache=off", "split=glob(leave_last*)") == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert "job 1: " in out
    [sweep] = (here / "outputs" / "sweeps").iterdir()
    assert {path.name for path in sweep.iterdir() if path.is_dir()} == {"0", "1", "trials", "summary"}
    table = sweep / "summary" / "sweep.csv"
    splits = {name.removeprefix("split/") for name in option_sources.options() if name.startswith("split/leave_last")}
    assert {line.split(",")[2] for line in table.read_text().splitlines()[1:]} == splits
    assert len(splits) > 1


@pytest.mark.slow
def test_verbose_shows_what_hydra_and_the_libraries_log_in_colours_by_a_plugin_of_hydra(tmp_path: Path) -> None:
    words = [*TINY, "ranker=identity", "cache=off", "hydra.verbose=true"]
    done = recx(tmp_path, *words, "hydra/job_logging=colorlog", "hydra/hydra_logging=colorlog")
    if importlib.util.find_spec("hydra_plugins.hydra_colorlog") is None:
        assert done.returncode == 2
        assert done.stderr.startswith(
            "hydra/job_logging=colorlog: the Hydra plugin that has this option is not installed"
        )
    else:
        assert done.returncode == 0
        assert "Installed Hydra Plugins" in done.stdout + done.stderr


def test_hydras_own_files_are_written_where_asked(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run_main(monkeypatch, *TINY, "ranker=identity", "cache=off", "hydra.output_subdir=.hydra") == 0
    [overrides] = here.glob("outputs/*/*/.hydra/overrides.yaml")
    assert "- ranker=identity" in overrides.read_text()


@pytest.mark.slow
def test_submitit_runs_trials_in_processes_of_its_own(tmp_path: Path) -> None:
    pytest.importorskip("hydra_plugins.hydra_submitit_launcher", reason="the launcher is not installed")
    words = ["ranker=identity", "cache=off", "hydra/launcher=submitit_local", "seed=1,2"]
    done = recx(tmp_path, "-m", *TINY, *words)
    assert (done.returncode, done.stderr) == (0, "")
    [table] = tmp_path.glob("outputs/sweeps/*/summary/sweep.csv")
    assert sorted(line.split(",")[2] for line in table.read_text().splitlines()[1:]) == ["1", "2"]


def test_the_configuration_can_be_shown(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_main(monkeypatch, "+experiment=news", "ranker.l2=0.5", "--cfg", "job") == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert "l2: 0.5" in out


def test_a_run_writes_into_the_working_directory(tmp_path: Path) -> None:
    done = recx(tmp_path, *TINY)
    assert (done.returncode, done.stderr) == (0, "")
    [folder] = (tmp_path / "outputs").glob("*/*_news")
    assert {"config.yaml", "metrics.json", "recommendations.parquet"} <= {path.name for path in folder.iterdir()}


@pytest.mark.slow
def test_ctrl_c_ends_a_run_with_130(tmp_path: Path) -> None:
    command = [sys.executable, "-u", "-m", "recx", *TINY, "dataset.readers=100000"]
    path = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(command, cwd=tmp_path, env=path, stderr=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline().startswith(b"load ")  # from here on it computes
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=PATIENCE)
    assert (process.returncode, said.decode()) == (130, "interrupted\n")


def test_an_interrupt_while_python_executes_a_text_ends_with_130(tmp_path: Path) -> None:
    (tmp_path / "probe.py").write_text(
        """
import sys
from recx.__main__ import main
from recx.cli import main as cli

def interrupted(arguments):
    exec("raise KeyboardInterrupt")  # as dataclasses and Numba execute texts

cli._dispatch = interrupted
sys.exit(main())
"""
    )
    path = os.pathsep.join((str(ROOT), str(tmp_path)))
    done = subprocess.run(
        [sys.executable, "-m", "probe"],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": path},
        check=False,
    )
    assert (done.returncode, done.stderr) == (130, "interrupted\n")


@pytest.mark.slow
@pytest.mark.parametrize("delay", [0.3, 0.6, 0.9, 1.2, 1.5])
def test_ctrl_c_while_a_run_starts_is_one_sentence(tmp_path: Path, delay: float) -> None:
    command, path = [sys.executable, "-m", "recx", *TINY], {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(command, cwd=tmp_path, env=path, stderr=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        time.sleep(delay)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=PATIENCE)
    if said != b"interrupted\n" and b"recx" not in said and process.returncode:
        pytest.skip("Python itself had not started yet")
    assert (process.returncode, said.decode()) in ((130, "interrupted\n"), (0, ""))  # 0: it had ended before


def test_a_later_run_in_the_same_process_does_not_inherit_the_words(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from recx.report.page.section_run import words

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", ["recx", "+experiment=news", "dataset.path=/nowhere"])
    assert main.main() == 2
    assert words() == []
