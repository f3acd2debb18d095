"""A new project runs as it is written, is never written over anything, and fits the file that it is made for."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import fields
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from omegaconf import OmegaConf

from recx.cli import main as cli
from recx.cli.commands import init
from recx.config import option_sources
from recx.core.errors import InputError
from recx.core.project import Project
from recx.parts.dataset.table import Table

ROOT = Path(__file__).resolve().parents[3]
OF_ANY_DATA = [
    ".gitignore",
    "README.md",
    "conf/dataset/mine.yaml",
    "conf/experiment/mine.yaml",
    "conf/feature/mine.yaml",
    "conf/retriever/mine.yaml",
    "my_shop/__init__.py",
    "my_shop/feature.py",
    "my_shop/retriever.py",
    "pytest.ini",
    "tests/test_parts.py",
]


def written_into(folder: Path) -> list[str]:
    return sorted(file.relative_to(folder).as_posix() for file in folder.rglob("*") if file.is_file())


@pytest.fixture
def run_project(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Callable[[str], str]]:
    """Return a function that runs the project shop, by the folder of its options, and returns what is printed."""

    def run(conf: str) -> str:
        capsys.readouterr()
        monkeypatch.setattr("sys.argv", ["recx", "--config-dir", conf, "+experiment=mine", "tracker=console"])
        code, (out, err) = cli.main(), capsys.readouterr()
        assert (code, err) == (0, "")
        return out

    monkeypatch.setattr(sys, "path", [*sys.path])  # the folder of a project stays on it until another is run
    yield run
    for module in [module for module in sys.modules if module.partition(".")[0] == "shop"]:
        del sys.modules[module]  # that of the next test lies elsewhere


def test_everything_is_called_by_the_folder_s_name(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert init.run(["new/My-Shop"]) == 0
    own = ["my_shop/dataset.py", "data/orders.csv", "tests/test_dataset.py"]
    assert written_into(here / "new" / "My-Shop") == sorted([*OF_ANY_DATA, *own])
    for file in (here / "new").rglob("*"):
        assert "cafe" not in file.name
        assert file.is_dir() or "cafe" not in file.read_text(encoding="utf-8")
    printed = capsys.readouterr().out
    assert printed.startswith(
        "new/My-Shop holds a project, its package my_shop and its option files. Next:\n\n  cd new/"
    )
    assert "\n  python -m recx --config-dir conf +experiment=mine\n  python -m pytest\n" in printed


def test_the_empty_folder_where_one_is_will_do(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "shop").mkdir()
    monkeypatch.chdir(here / "shop")
    assert init.run(["."]) == 0
    assert (here / "shop" / "shop" / "dataset.py").is_file()
    assert "cd " not in capsys.readouterr().out


def test_the_options_say_how_they_are_run_and_name_every_setting(here: Path) -> None:
    init.run(["shop"])
    first, second = (here / "shop" / "conf" / "experiment" / "mine.yaml").read_text().splitlines()[:2]
    assert first == "# @package _global_"
    assert second.startswith("# python -m recx --config-dir conf +experiment=mine ")
    sys.path.append(str(here / "shop"))
    try:
        from shop.dataset import Orders
        from shop.retriever import Follows
    finally:
        sys.path.remove(str(here / "shop"))
    for kind, part in {"dataset": Orders(), "retriever": Follows()}.items():
        option = OmegaConf.to_container(OmegaConf.load(here / "shop" / "conf" / kind / "mine.yaml"), resolve=False)
        assert isinstance(option, dict)
        assert option.pop("_target_") == f"shop.{kind}.{type(part).__name__}"
        assert {**option, "seen": "drop"} == {**vars(part), "seen": "drop"}  # written as ${seen}
    for module in [module for module in sys.modules if module.partition(".")[0] == "shop"]:
        del sys.modules[module]


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("2024", "called '2024': choose a name of letters, digits and _, such as my_project"),
        ("café", "called 'café': choose a name of letters"),
        ("class", "called class, which has a meaning already"),
        ("Calendar", "called calendar, which has a meaning already"),
        ("tests", "called tests, which has a meaning already"),
        ("conf", "called conf, which has a meaning already"),
        ("outputs", "called outputs, which has a meaning already"),
        ("recx", "called recx, and a package of that name is installed"),
        ("scikit/sklearn", "called sklearn, and a package of that name is installed"),
    ],
)
def test_a_name_that_a_package_cannot_have_is_refused(name: str, reason: str, here: Path) -> None:
    with pytest.raises(InputError, match=rf"^recx init {name}: its package would be {reason}"):
        init.run([name])
    assert list(here.iterdir()) == []


def test_the_options_of_a_plugin_are_not_hidden(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    known = ["retriever/mine"]
    monkeypatch.setattr(option_sources, "options", lambda: known)
    assert init.run(["my-shop"]) == 0
    assert "+experiment=my_shop\n" in capsys.readouterr().out
    files = [file for file in OF_ANY_DATA if file.startswith("conf/")]
    assert [file for file in written_into(here / "my-shop") if "mine" in file] == []
    assert {file.replace("mine", "my_shop") for file in files} <= set(written_into(here / "my-shop"))
    experiment = (here / "my-shop" / "conf" / "experiment" / "my_shop.yaml").read_text(encoding="utf-8")
    assert "  - override /retriever: my_shop\n" in experiment
    known.append("feature/other")
    with pytest.raises(InputError, match=r"options called mine and other exist already: choose another name"):
        init.run(["other"])


@pytest.mark.parametrize("made", ["file", "folder"])
def test_nothing_is_overwritten(made: str, here: Path) -> None:
    place = here / "shop" if made == "file" else here / "shop" / "notes.txt"
    place.parent.mkdir(exist_ok=True)
    place.write_text("mine", encoding="utf-8")
    with pytest.raises(InputError, match=r"^recx init shop: it exists already and is not an empty folder"):
        init.run(["shop"])
    assert written_into(here) == [place.relative_to(here).as_posix()]


def test_a_flag_about_a_file_needs_the_file(here: Path) -> None:
    with pytest.raises(InputError, match=r"^recx init: --time-unit is about a file of your own: name it with --from"):
        init.run(["shop", "--time-unit", "s"])


def test_the_project_s_own_folder_is_no_second_package(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    init.run(["shop"])
    monkeypatch.syspath_prepend(here)  # as in `python -m pytest shop`
    project = Project.of([here / "shop" / "conf"])
    assert project.check("shop.dataset.Orders") == here / "shop" / "shop"
    (here / "shop" / "__init__.py").write_text("", encoding="utf-8")
    with pytest.raises(InputError, match="the module 'shop' exists twice"):
        project.check("shop.dataset.Orders")


def output_of_tests(folder: Path, *places: str) -> str:
    """Run the tests of a project in a process of its own, and return what it prints."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "pytest", "-q", "-W", "error", "-p", "no:cacheprovider", *places]
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, env=environment, check=False)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout + done.stderr
    return done.stdout


@pytest.mark.slow
def test_it_runs_from_its_folder_and_its_tests_pass_from_anywhere(here: Path, run_project: Callable[..., str]) -> None:
    init.run(["shop"])
    assert "7 passed" in output_of_tests(here, "shop")
    os.chdir(here / "shop")
    assert "hour_match" in run_project("conf")


def ratings(folder: Path, form: str) -> Path:
    """Write 60 users' 12 ratings in a usual form, and return the file."""
    rng = np.random.default_rng(0)
    user, item = np.repeat(np.arange(60), 12), np.concatenate([rng.permutation(40)[:12] for _ in range(60)])
    seconds = 1_112_484_727 + 977 * np.arange(720)
    date = pd.to_datetime(seconds, unit="s")
    tables = {
        "ratings.csv": {"userId": user, "movieId": item, "rating": rng.integers(1, 11, 720) / 2, "timestamp": seconds},
        "train-item-views.csv": {
            "sessionId": user,
            "userId": "NA",
            "itemId": item,
            "timeframe": 1000 * (np.arange(720) % 12),
            "eventdate": date.strftime("%Y-%m-%d"),
        },
        "events.csv": {
            "timestamp": 1000 * seconds + 117,
            "visitorid": user,
            "event": "view",
            "itemid": item,
            "transactionid": "",
        },
        "train_click_log.csv": {
            "user_id": user,
            "click_article_id": item,
            "click_timestamp": 1000 * seconds,
            "click_environment": 4,
        },
        "log.parquet": {"uid": user, "sku": item, "ts": date},
        "iso.tsv.gz": {"customer_id": user, "asin": item, "created_at": date.strftime("%Y-%m-%dT%H:%M:%SZ")},
        "log.inter": {"user_id:token": user, "item_id:token": item, "timestamp:float": seconds + 0.5},
        "us.csv": {"reader": user, "book": item, "date": 1_000_000 * seconds, "strength": 1 + item % 3},
        "plain.csv": {"reviewerID": user, "business_id": item},
    }
    path, table = folder / form, pd.DataFrame(tables[form])
    if form.endswith(".parquet"):
        table.to_parquet(path)
    else:
        mark = ";" if form == "train-item-views.csv" else "\t" if "." in form and "csv" not in form else ","
        table.to_csv(path, sep=mark, index=False)
    return path


DEFAULTS = {setting.name: setting.default for setting in fields(Table)}
FORMS = {
    "ratings.csv": ([], ["userId", "movieId", "timestamp", None, "s", None]),
    "train-item-views.csv": (
        ["--user", "sessionId", "--time", "eventdate"],
        ["sessionId", "itemId", "eventdate", None, "iso", ";"],
    ),
    "events.csv": ([], ["visitorid", "itemid", "timestamp", None, "ms", None]),
    "train_click_log.csv": ([], ["user_id", "click_article_id", "click_timestamp", None, "ms", None]),
    "log.parquet": ([], ["uid", "sku", "ts", None, "iso", None]),
    "iso.tsv.gz": ([], ["customer_id", "asin", "created_at", None, "iso", None]),
    "log.inter": ([], ["user_id:token", "item_id:token", "timestamp:float", None, "s", None]),
    "us.csv": ([], ["reader", "book", "date", "strength", "us", None]),
    "plain.csv": ([], ["reviewerID", "business_id", None, None, "ms", None]),
}
"""Form of a file -> the flags that it needs, and what the settings from user to delimiter become."""


@pytest.mark.parametrize("form", FORMS)
def test_the_settings_for_a_usual_file(form: str, here: Path) -> None:
    file = ratings(here, form)
    flags, expected = FORMS[form]
    init.run(["my-shop", "--from", form, *flags])
    assert written_into(here / "my-shop") == sorted(OF_ANY_DATA)
    option = OmegaConf.load(here / "my-shop" / "conf" / "dataset" / "mine.yaml")
    assert option.pop("_target_") == "recx.parts.dataset.table.Table"
    names = ["user", "item", "time", "weight", "time_unit", "delimiter"]
    assert option == DEFAULTS | dict(zip(names, expected, strict=True)) | {"path": str(file)}
    assert f"`{file}`" in (here / "my-shop" / "README.md").read_text(encoding="utf-8")


def test_each_guess_says_what_was_seen(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ratings(here, "ratings.csv")
    init.run(["shop", "--from", "ratings.csv"])
    written = (here / "shop" / "conf" / "dataset" / "mine.yaml").read_text(encoding="utf-8")
    assert f"Check conf/dataset/mine.yaml:\n\n{written}\nNext:\n\n  cd shop\n" in capsys.readouterr().out
    assert "ratings.csv # 720 events\n" in written
    assert "user: userId # 60 users\nitem: movieId # 40 items\n" in written
    assert "time_unit: s # 1112484727 is 2005-04-02\n" in written
    assert "weight: null # every row counts alike: as the weight, a low rating (0.5 to 5) would be a hit too" in written
    assert all(len(line) <= 120 for line in written.splitlines() if "path:" not in line)


def test_names_in_the_path_and_the_columns_stay(here: Path) -> None:
    (here / "cafe").mkdir()
    (here / "cafe" / "mine.csv").write_text("cafe,mine,ts\n1,2,1112484727\n", encoding="utf-8")
    init.run(["shop", "--from", "cafe/mine.csv", "--user", "cafe", "--item", "mine"])
    option = OmegaConf.load(here / "shop" / "conf" / "dataset" / "mine.yaml")
    assert (option.path, option.user, option.item) == (str(here / "cafe" / "mine.csv"), "cafe", "mine")
    assert str(here / "cafe" / "mine.csv") in (here / "shop" / "README.md").read_text(encoding="utf-8")


def test_a_rating_becomes_the_weight_if_that_is_said(here: Path) -> None:
    ratings(here, "ratings.csv")
    init.run(["shop", "--from", "ratings.csv", "--weight", "rating", "--time", "none"])
    option = OmegaConf.load(here / "shop" / "conf" / "dataset" / "mine.yaml")
    assert (option.weight, option.time) == ("rating", None)


def test_a_path_and_columns_that_yaml_would_misread_are_quoted(here: Path) -> None:
    (here / "${x} #1.csv").write_text("yes,Product: ID,at\n1,2,1112484727\n", encoding="utf-8")
    init.run(["shop", "--from", "${x} #1.csv", "--user", "yes", "--item", "Product: ID"])
    option = OmegaConf.load(here / "shop" / "conf" / "dataset" / "mine.yaml")
    assert (option.path, option.user, option.item) == (str(here / "${x} #1.csv"), "yes", "Product: ID")


@pytest.mark.parametrize(
    ("text", "flags", "message"),
    [
        (
            "sessionId,userId,itemId\n",
            [],
            r"the user could be the column 'sessionId' or 'userId': decide with --user",
        ),
        ("user,item,user\n1,2,3\n", [], r"column 'user' occurs 2 times in the header"),
        ("user,asin,product\n", [], r"the item could be the column 'asin' or 'product': decide with --item COLUMN$"),
        ("user,item,ts,date\n", [], r"could be the column 'ts' or 'date': decide with --time COLUMN or --time none$"),
        ("user,item,rating,score\n", [], r"decide with --weight COLUMN or --weight none$"),
        (
            "who,item,ts\n",
            [],
            r"its columns \(who, item, ts\) is the user cannot be seen by their names: say it",
        ),
        ("user,what,ts\n", [], r"is the item cannot be seen by their names: say it with --item COLUMN$"),
        ("1,1193,5,978300760\n", [], r"seems to have no header \(1, 1193, 5, 978300760\): put one first"),
        ("user,item\n", ["--user", "usr"], r"^--user usr: .*log.csv has no such column: did you mean 'user'\?$"),
        ("user,item\n", ["--delimiter", ";"], r"^--delimiter ;: it is not in the first line of"),
        ("user,user;item\n", [], r"columns by two delimiters, .*: decide with --delimiter D$"),
        (
            "user,item,ts\n1,2,5\n",
            [],
            r"unclear, 5 is 1970-01-01T00:00:05 if it counts s and 1970-01-01T00:00:00 if",
        ),
        ("user,item,ts\n1,2,20240501\n", [], r"20240501 is 1970-08-23T06:21:41 if it counts s and 2024-05-01 if it is"),
        ("user,item,date\n1,2,soon\n", [], r"is not a date such as .* with --time none$"),
        (
            "user,item,date\n1,2,'09 12, 2009'\n".replace("'", '"'),
            [],
            r"2009-12-09 if the day .*time_unit=dmy or .*=mdy",
        ),
        ("user,item\n", [], r"has a header but no rows"),
        (
            "user,item,zeit\n1,2,881250949\n",
            [],
            r"'zeit' seems to hold the times, such as 881250949: say it",
        ),
        ("user,item,zeit\n1,2,1997-12-04\n", [], r"hold the times, such as 1997-12-04: .* 'zeit', or .* --time none$"),
    ],
)
def test_what_can_be_read_in_two_ways_is_refused(text: str, flags: list[str], message: str, here: Path) -> None:
    (here / "log.csv").write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=message):
        init.run(["shop", "--from", "log.csv", *flags])
    assert [file.name for file in here.iterdir()] == ["log.csv"]


def test_json_lines_are_a_table(here: Path) -> None:
    lines = '{"uid": 1, "sku": 2, "ts": 881250949}\n{"uid": 1, "sku": 3, "ts": 881250950}\n'
    (here / "log.jsonl").write_text(lines, encoding="utf-8")
    init.run(["shop", "--from", "log.jsonl"])
    table = OmegaConf.load(here / "shop" / "conf" / "dataset" / "mine.yaml")
    assert (table.user, table.item, table.time, table.time_unit, table.delimiter) == ("uid", "sku", "ts", "s", None)


@pytest.mark.parametrize("flags", [["--time", "none"], ["--time", "zeit"]])
def test_whether_a_column_holds_the_times_can_be_said(flags: list[str], here: Path) -> None:
    (here / "log.csv").write_text("user,item,zeit,price\n1,2,881250949,4.5\n1,3,881250950,2\n", encoding="utf-8")
    init.run(["shop", "--from", "log.csv", *flags])
    table = OmegaConf.load(here / "shop" / "conf" / "dataset" / "mine.yaml")
    assert table.time == (None if flags[1] == "none" else "zeit")


def test_other_columns_are_not_taken_for_times(here: Path) -> None:
    (here / "log.csv").write_text("user,item,price,town\n1,2,4.5,Rome\n1,3,2,Oslo\n", encoding="utf-8")
    init.run(["shop", "--from", "log.csv"])
    assert OmegaConf.load(here / "shop" / "conf" / "dataset" / "mine.yaml").time is None


def test_a_flag_decides_what_is_unclear(here: Path) -> None:
    (here / "log.csv").write_text("user,item,ts\n1,2,5\n1,3,7\n", encoding="utf-8")
    init.run(["shop", "--from", "log.csv", "--time-unit", "s"])
    assert OmegaConf.load(here / "shop" / "conf" / "dataset" / "mine.yaml").time_unit == "s"
    with pytest.raises(InputError, match=r"time_unit=w: "):
        init.run(["other", "--from", "log.csv", "--time-unit", "w"])


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
def test_it_runs_on_the_file(form: str, here: Path, run_project: Callable[..., str]) -> None:
    ratings(here, form)
    init.run(["shop", "--from", form, *FORMS[form][0]])
    assert re.search(r"\busers +60\b", run_project("shop/conf"), flags=re.MULTILINE)


@pytest.mark.slow
def test_the_tests_of_a_project_for_a_file_pass(here: Path) -> None:
    ratings(here, "ratings.csv")
    init.run(["shop", "--from", "ratings.csv"])
    assert "4 passed" in output_of_tests(here / "shop")


@pytest.mark.slow
def test_it_runs_on_a_real_log(here: Path, shared_data: Callable[[str], Path], run_project: Callable[..., str]) -> None:
    init.run(["shop", "--from", str(shared_data("globo-tianchi-25k/train_click_log.csv.gz"))])
    run_project("shop/conf")


def test_it_is_a_command(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["recx", "init", "shop"])
    assert cli.main() == 0
    assert (here / "shop" / "README.md").is_file()
