"""A new plugin is a whole package: it is found, its parts run, and its own tests pass."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import recx
from recx.cli.commands import new_plugin
from recx.core.errors import InputError

ROOT = Path(__file__).resolve().parents[3]


def test_everything_is_called_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert new_plugin.run(["my-own"]) == 0
    files = [file for file in (tmp_path / "recx-my-own").rglob("*") if file.is_file()]
    assert tmp_path / "recx-my-own" / "recx_my_own" / "conf" / "metric" / "my_own_all_shown.yaml" in files
    assert len(files) == 4 + 4 * 3
    for file in files:
        assert "template" not in f"{file.relative_to(tmp_path)} {file.read_text(encoding='utf-8')}".lower()


def written_into(folder: Path) -> list[str]:
    return sorted(str(file.relative_to(folder)) for file in folder.rglob("*") if file.is_file())


@pytest.mark.parametrize("kind", new_plugin.KINDS)
def test_a_kind_alone_is_its_three_files_and_its_row(kind: str, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert new_plugin.run(["mine", kind]) == 0
    option = "mine_all_shown" if kind == "metric" else "mine"
    assert written_into(here / "recx-mine") == sorted(
        [
            "README.md",
            "pyproject.toml",
            "recx_mine/__init__.py",
            "recx_mine/py.typed",
            f"recx_mine/{kind}.py",
            f"recx_mine/conf/{kind}/{option}.yaml",
            f"tests/test_{kind}.py",
        ]
    )
    rows = [line for line in (here / "recx-mine" / "README.md").read_text().splitlines() if "recx_mine/" in line]
    assert [row.split(" | ")[0] for row in rows[:-1]] == [f"| {kind}"]
    printed = capsys.readouterr().out
    assert f"holds {'an' if kind == 'encoder' else 'a'} {kind}. Next:" in printed
    assert printed.count("python -m recx ") == 1


def test_what_it_holds_is_listed(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    new_plugin.run(["mine", "split", "dataset", "split"])
    assert "recx-mine holds a dataset and a split. Next:" in capsys.readouterr().out
    assert new_plugin.run(["other"]) == 0
    assert "recx-other holds a feature, a retriever, a ranker and a metric. Next:" in capsys.readouterr().out


def test_a_kind_that_does_not_exist_is_named(here: Path) -> None:
    with pytest.raises(InputError, match=r"mine: 'splitt' is not a kind of part: did you mean 'split'\?$"):
        new_plugin.run(["mine", "splitt"])
    assert list(here.iterdir()) == []


def test_an_option_that_exists_is_refused_for_the_chosen_kinds_only(here: Path) -> None:
    with pytest.raises(InputError, match=r"the option dataset/movielens exists already: choose another name$"):
        new_plugin.run(["movielens", "dataset", "ranker"])
    assert new_plugin.run(["movielens", "ranker"]) == 0


def lay_out(here: Path, name: str) -> str:
    """Have pip's files lie in a plugin's folder; return that folder."""
    info = here / f"recx-{name}" / f"recx_{name}-0.1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: recx-{name}\nVersion: 0.1.0\n", encoding="utf-8")
    (info / "entry_points.txt").write_text(f"[recx.plugins]\n{name} = recx_{name}\n", encoding="utf-8")
    return str(info.parent)


@pytest.mark.slow
def test_the_tests_of_all_kinds_and_of_each_alone_pass(here: Path) -> None:
    plugins = {"mine": new_plugin.KINDS, **{f"only{kind}": (kind,) for kind in new_plugin.KINDS}}
    for name, kinds in plugins.items():
        new_plugin.run([name, *kinds])
    path = os.pathsep.join([str(ROOT), *(lay_out(here, name) for name in plugins)])
    # Files of one name in several folders need the import mode; all lie in one process since each start takes seconds.
    flags = ["-q", "-W", "error", "-p", "no:cacheprovider", "--import-mode=importlib"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *flags, *(f"recx-{name}" for name in plugins)],
        capture_output=True, text=True, cwd=here, env={**os.environ, "PYTHONPATH": path}, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, ""), done.stdout + done.stderr


@pytest.mark.slow
def test_the_parts_of_all_kinds_run(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    new_plugin.run(["mine", *new_plugin.KINDS])
    monkeypatch.syspath_prepend(lay_out(here, "mine"))
    metrics = "evaluator.end_to_end=[ndcg_at_5,mine_all_shown_at_5]"
    recx.run(["+experiment=news", "dataset.readers=200", "tracker=mine", "split=mine", "feature=mine", metrics,
              "retriever=mine", "ranker=mine"])  # fmt: skip
    capsys.readouterr()
    recx.run(["+experiment=tools", "dataset.tasks=100", "tracker=mine", "encoder=mine", "feature=mine", metrics])
    printed = capsys.readouterr().out
    assert "mine all shown" in printed
    assert "mine_freshness" in printed
    events = [{"user": n // 8, "item": n * n % 23, "time": f"2024-05-{1 + n % 8:02}T09:00:00Z"} for n in range(240)]
    (here / "log.jsonl").write_text("\n".join(json.dumps(event) for event in events), encoding="utf-8")
    recx.run(["+experiment=table", "dataset=mine", "dataset.path=log.jsonl", "tracker=mine"])
    runs = [json.loads(line) for line in (here / "outputs" / "runs.jsonl").read_text().splitlines()]
    assert [(run["name"], run["status"]) for run in runs] == [
        ("news", "finished"),
        ("tools", "finished"),
        ("table", "finished"),
    ]
    assert runs[2]["metrics"]["end_to_end/users"] == 30


@pytest.mark.parametrize("name", ["", "Mine", "1st", "a b", "../x", "mine_", "é", "a--b", "a/b"])
def test_a_name_that_no_package_can_have_is_refused(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=r"a name consists of lower-case letters, digits and -, such as mine$"):
        new_plugin.run([name])
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_overwritten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "recx-mine").mkdir()
    with pytest.raises(InputError, match=r"the folder recx-mine exists already: remove it, or choose another name$"):
        new_plugin.run(["mine"])
