"""``doctor dataset.path=FILE``: what the file seems to be, and the command, which then runs as printed."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path

import pytest
from made_files import ITEMS, MADE, USERS, N, write

import recx
from recx.cli import main
from recx.core.errors import InputError
from recx.jobs.identified import identified
from recx.parts.dataset.known_files import formats
from recx.parts.dataset.table import Table

COUNTS = {
    **dict.fromkeys(MADE, (USERS, ITEMS, N)),
    "recbole_sequences": (12, 12, 48),
    "sequences": (12, 11, 48),
    "mind": (12, 31, 36),
    **dict.fromkeys(("beir", "beir_test"), (30, 40, 60)),
    **dict.fromkeys(("ms_marco", "ms_marco_train"), (30, 40, 60)),
    "svmlight": (30, 120, 80),
    "svmlight_folder": (90, 120, 240),
}
"""Format -> users, items and events of the files that are made."""
SPEED = ["retriever=popularity", "ranker=identity"]


@pytest.fixture(autouse=True)
def elsewhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)


def doctor(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr(sys, "argv", ["recx", "doctor", *arguments])
    return main.main()


@pytest.mark.parametrize("name", MADE)
def test_every_format_is_read_by_its_command(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = write(tmp_path / "data", name)
    assert doctor(monkeypatch, f"dataset.path={path}", "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert formats()[name].what in told["data"]
    assert (told["users"], told["items"], told["events"]) == COUNTS[name]
    found = identified([f"dataset.path={path}"])
    assert found is not None  # whose overrides are those that were read
    assert told["command"] == shlex.join(["python", "-m", "recx", *found.overrides])


@pytest.mark.slow
def test_the_command_stands_on_a_line_of_its_own_and_runs(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = write(tmp_path / "some data, 'mine'", "amazon_ratings_2018")
    assert doctor(monkeypatch, f'dataset.path="{path}"') == 0
    out = capsys.readouterr().out
    assert out.startswith("It seems to be Amazon ratings of 2018: item, user, rating and time, without a header (")
    assert "\n  user   column 1, such as A0000000000001\n" in out
    assert "\n  item   column 0, such as B000000001\n" in out
    assert "\n  time   column 3, such as 880000000\n" in out
    (line,) = [line for line in out.splitlines() if line.startswith("python -m recx ")]
    result = recx.run([*shlex.split(line)[3:], *SPEED, "tracker=console"])
    assert result.metrics["data/users"] == USERS


def test_a_table_of_no_known_format_is_read_by_the_names_of_its_columns(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = tmp_path / "log.csv"
    file.write_text("uid;sku;ts\n" + "".join(f"{n % 7};{n % 5};{1_500_000_000 + n}\n" for n in range(60)))
    assert doctor(monkeypatch, f"dataset.path={file}", "dataset.user=uid", "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert told["roles"]["item"] == "sku (5 items)"
    words = shlex.split(told["command"])[3:]
    assert words[0] == "+experiment=table"
    assert {"dataset.user=uid", "dataset.item=sku", "dataset.time=ts", "dataset.time_unit=s"} <= set(words)


def test_the_doctor_loads_a_file_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    loaded, load = [], Table.load
    monkeypatch.setattr(Table, "load", lambda table: loaded.append(table) or load(table))
    file = tmp_path / "ratings.csv"
    file.write_text("uid,sku,stars,ts\n" + "".join(f"{n % 7},{n % 5},3.5,{1_500_000_000 + n}\n" for n in range(60)))
    assert doctor(monkeypatch, f"dataset.path={file}") == 0
    assert len(loaded) == 1


def test_what_the_line_says_besides_stays(tmp_path: Path) -> None:
    path = write(tmp_path / "data", "user_item")
    found = identified([f"dataset.path={path}", "n_candidates=20", "dataset.order=none"])
    assert found is not None
    assert found.overrides == [
        *("+experiment=table", "dataset=user_item", f"dataset.path={path}"),
        *("n_candidates=20", "dataset.order=none"),
    ]


@pytest.mark.parametrize("line", [["dataset=table"], ["+experiment=table"], []])
def test_nothing_is_guessed_where_a_dataset_is_named_or_no_path_given(line: list[str]) -> None:
    assert identified([*line, *(["dataset.path=x.csv"] if line else [])]) is None


def test_a_setting_that_decides_is_named_as_one_types_it(tmp_path: Path) -> None:
    file = tmp_path / "log.csv"
    file.write_text("user_id,item_id,start,amount\n1,2,2020-01-01,5\n3,4,2020-01-02,6\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"say it with dataset.time='start', or .* with dataset.time=null$"):
        identified([f"dataset.path={file}"])


def test_a_folder_of_files_of_no_known_format_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("uid,sku\n1,2\n", encoding="utf-8")
    (tmp_path / "b.txt").write_text("some words\n", encoding="utf-8")
    with pytest.raises(InputError, match="none of its files is of a known format, and they are not parts of one table"):
        identified([f"dataset.path={tmp_path}"])


def test_a_folder_of_parts_is_one_table(tmp_path: Path) -> None:
    for part in range(2):
        rows = "".join(f"{n % 7},{n % 5},{1_500_000_000 + n}\n" for n in range(60 * part, 60 * part + 60))
        (tmp_path / f"part-{part}.csv").write_text(f"user,item,time\n{rows}", encoding="utf-8")
    found = identified([f"dataset.path={tmp_path}"])
    assert found is not None
    assert found.overrides[:2] == ["+experiment=table", f"dataset.path={tmp_path}"]
