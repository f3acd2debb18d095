"""``recx predict``: files of users, histories and items in, a table out, and every mistake is one sentence."""

from __future__ import annotations

import errno
import re
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import recx
from recx.cli import main
from recx.cli.commands.predict import run
from recx.core.errors import InputError
from recx.experiment.model.model import Model
from recx.jobs.predict import predict

HOUR = 3_600_000
START = 1_506_800_000_000  # ms, 2017-09-30
USERS, ITEMS = 40, 20


def clicks() -> pd.DataFrame:
    """Return 4 clicks of each user; user u clicks the items u, u + 1, u + 2 and u + 3, an hour apart."""
    user, step = np.divmod(np.arange(4 * USERS), 4)
    names = np.char.add("u", user.astype(str))
    return pd.DataFrame({"reader": names, "doc": 100 + (user + step) % ITEMS, "ts": START + HOUR * (user + step)})


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("home")
    clicks().to_csv(home / "clicks.csv", index=False)
    columns = ["dataset.user=reader", "dataset.item=doc", "dataset.time=ts", f"dataset.path={home}/clicks.csv"]
    chain = ["retriever=union", "ranker=identity", "n_candidates=8", "tracker=console", "cache=off"]
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(home)
        recx.run(["+experiment=table", *columns, *chain])
    return home


@pytest.fixture
def home(made: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Return the folder with the run, which is the working directory; what tests write there goes again."""
    monkeypatch.chdir(made)
    (made / "mine").mkdir()
    yield made
    shutil.rmtree(made / "mine")


def table(*words: str) -> pd.DataFrame:
    assert run(["last", *words, "--output", "mine/top.parquet"]) == 0
    return pd.read_parquet("mine/top.parquet")


def test_the_file_has_what_the_model_recommends(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    frame = table("--k", "5")
    said = f"{len(frame)} rows for {USERS} users, 1 with an empty list: mine/top.parquet\n"
    assert capsys.readouterr().out.endswith(said), "before user u0 asks, nobody else has clicked"
    model = Model.of(next(home.glob("outputs/2*/*/model")))
    pd.testing.assert_frame_equal(frame, model.recommend(k=5), check_dtype=False)
    assert frame["known"].all()
    for place in ("mine/top.csv", "mine/top.jsonl.gz"):
        assert run([str(next(home.glob("outputs/2*/*"))), "--k", "5", "--output", place]) == 0
    again = pd.read_csv("mine/top.csv")
    pd.testing.assert_frame_equal(again, frame, rtol=1e-6)


def test_blocks_change_nothing(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("mine/users.txt").write_text("\n".join(f"u{user}" for user in (7, 3, 99, 12, 3, 8, 77)))
    whole = table("--users", "mine/users.txt")
    monkeypatch.setattr(predict, "REQUESTS", 2)
    pd.testing.assert_frame_equal(table("--users", "mine/users.txt"), whole)
    assert whole["user"].unique().tolist() == ["u7", "u3", "u99", "u12", "u8", "u77"]


def test_users_are_served_in_the_order_of_their_file_and_unknown_ones_are_marked(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("mine/users.csv").write_text("user\nu3\nnew\nu1\nu3\n")
    frame = table("--users", "mine/users.csv")
    assert frame["user"].unique().tolist() == ["u3", "new", "u1"]
    assert frame["known"].tolist() == (frame["user"] != "new").tolist()
    said = capsys.readouterr().out
    assert "1 of the users are named again, and count once" in said
    assert "for 3 users, 1 unknown to the model" in said
    one = table("--user", "u1", "--user", "u3")
    assert one["user"].unique().tolist() == ["u1", "u3"]


def test_a_history_stands_in_place_of_the_run_s(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """User u5 gets the events of u9, which are recommended the same, as does the new user n."""
    of_other = clicks()[lambda frame: frame["reader"] == "u9"]
    more = pd.DataFrame({"reader": "n", "doc": [999], "ts": [START]})
    frames = [of_other.assign(reader="u5"), of_other.assign(reader="n"), more]
    pd.concat(frames).to_csv("mine/history.csv", index=False)
    frame = table("--history", "mine/history.csv")
    assert "mine/history.csv: 1 events of unknown items are left out" in capsys.readouterr().out
    assert frame["user"].unique().tolist() == ["u5", "n"]
    assert frame["known"].all()
    lists = frame.groupby("user")["item"].agg(list)
    assert lists["u5"] == lists["n"] == table("--user", "u9")["item"].tolist()
    both = table("--history", "mine/history.csv", "--user", "u5", "--user", "u6")
    assert both[both["user"] == "u5"]["item"].tolist() == lists["u5"]
    assert both[both["user"] == "u6"]["item"].tolist() == table("--user", "u6")["item"].tolist()


def test_a_run_with_filters_says_that_they_do_not_judge_the_file(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    monkeypatch.setattr(predict, "say", said.append)
    clicks()[:1].to_csv("mine/history.csv", index=False)
    model = Model.of(next(home.glob("outputs/2*/*/model")))
    filters = {"min_weight": {"_target_": "recx.parts.filter.min_weight.MinWeight"}}
    config = {**model.kept.config, "filter": filters}
    filtered = Model(replace(model.kept, config=config, chain=replace(model.kept.chain, known=model.known)))
    for one, times in ((model, 0), (filtered, 1)):
        predict.asked_of(one, predict.Wanted(history=Path("mine/history.csv")))
        assert len([text for text in said if "the run's filters (min_weight) are not applied here" in text]) == times


def test_without_the_run_s_data_the_events_of_the_file_are_all_that_is_known(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    clicks()[:8].to_csv("mine/history.csv", index=False)
    before = table("--history", "mine/history.csv")
    Path("clicks.csv").rename("gone.csv")
    try:
        capsys.readouterr()
        pd.testing.assert_frame_equal(table("--history", "mine/history.csv"), before)
        said = " ".join(capsys.readouterr().out.split())  # without the breaks of its lines
        assert "the events of --history are the whole history, since that of the run is not here: " in said
        with pytest.raises(InputError, match=r"clicks.csv: no such file"):
            table("--user", "u1")
    finally:
        Path("gone.csv").rename("clicks.csv")


def test_only_allowed_items_are_shown(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("mine/items.txt").write_text("103\n104\n105\nx1\n55\n")
    frame = table("--items", "mine/items.txt")
    assert set(frame["item"]) <= {103, 104, 105}
    assert "mine/items.txt: 2 items are left out, which the model does not know" in capsys.readouterr().out


def test_only_events_before_the_time_are_known(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """At 7 h user u5 has clicked 105 and 106, and 107 only then; u20 nothing."""
    at = START + 7 * HOUR
    early = table("--user", "u5", "--user", "u20", "--at", str(at))
    assert early["known"].tolist() == (early["user"] == "u5").tolist()
    assert "1 unknown to the model" in capsys.readouterr().out
    assert set(early[early["known"]]["item"]) == set(range(100, 105))
    assert set(early[~early["known"]]["item"]) == set(range(100, 107))
    assert set(table("--user", "u20")["item"]) - set(range(100, 107))
    utc, east = (pd.Timestamp(at, unit="ms", tz=zone).isoformat() for zone in ("UTC", "Asia/Tokyo"))
    for text in (utc, east, utc.removesuffix("+00:00")):
        pd.testing.assert_frame_equal(table("--user", "u5", "--user", "u20", "--at", text), early)


def test_lists_are_no_longer_than_the_candidates(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert table("--k", "50").groupby("user").size().max() <= 8
    assert "the lists have at most 8 items, the run's n_candidates" in capsys.readouterr().out


def test_a_table_is_printed_of_the_first_users(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["last", "--k", "2"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["user", "rank", "item", "score"]
    assert [line.split()[0] for line in lines[1:-2] if line[0] != " "] == [f"u{user}" for user in range(1, 10)]
    assert lines[-2:] == ["empty lists: those of 1 of these 10 users", f"10 of {USERS} users: --output FILE writes all"]
    assert run(["last", "--user", "nobody"]) == 0
    assert "nobody (unknown)" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["last", "--k", "0"], "--k 0: it must be a whole number from 1"),
        (["last", "--users", "no.csv"], "no.csv: no such file"),
        (["last", "--users", "clicks.csv"], "its first line has 3 columns separated by ','"),
        (["last", "--users", "x.csv", "--user", "3"], "not allowed with argument"),
        (["last", "--history", "mine/empty.csv"], "--history: mine/empty.csv is empty"),
        (["last", "--history", "mine/users.csv"], "--history: mine/users.csv: column 'reader' is missing"),
        (["last", "--items", "mine/users.csv"], "users.csv has no|its first line"),
        (["last", "--items", "mine/items.csv"], "mine/items.csv: the model knows none of its 2 items"),
        (["last", "--at", "1506825200"], "count s, not ms .2017-10-01T02:33:20, not 1970-01-18"),
        (["last", "--at", "20171001"], "are dates written as numbers, or count ms and mean 1970-01-01"),
        (["last", "--at", "1/2/2017"], "--at 1/2/2017: '1/2/2017' is no time"),
        (["last", "--at", "2017-02-30"], "--at 2017-02-30: '2017-02-30' is no time"),
        (
            ["last", "--at", "2016-01-01"],
            "--at 2016-01-01: no event lies before it .*, since the first is of 2017-09-30",
        ),
        (["last", "--at", "-5"], "expected one argument|no time|out of range"),
        (["last", "--at", "9" * 30], "too large for a time"),
        (["last", "--output", "top.tsv"], "must end in .parquet, .csv"),
        (["last", "--output", "clicks.csv"], "it exists already and is no table of predictions"),
        (["last", "--output", "no/top.csv"], "there is no folder no"),
        (["last", "--force"], "--force replaces the file of --output"),
        (["nothing"], "no run 'nothing'"),
        (["best:nothing"], "no experiment 'nothing'"),
        (["models:/nothing/1"], "models:/nothing/1"),
    ],
)
def test_a_mistake_is_one_sentence_and_exit_code_2(
    words: list[str], said: str, home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("mine/empty.csv").touch()
    Path("mine/users.csv").write_text("user,x\nu1,2\n")
    Path("mine/items.csv").write_text("item\n1\n2\n")
    monkeypatch.setattr("sys.argv", ["recx", "predict", *words])
    assert main.main() == 2
    told = capsys.readouterr()
    assert len(told.err.splitlines()) == 1
    assert re.search(said, told.err)


def test_a_run_without_a_model_says_so(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = next(home.glob("outputs/2*/*"))
    (folder / "model").rename(home / "mine" / "model")
    try:
        with pytest.raises(InputError, match="this run kept no model"):
            run([str(folder)])
        assert run([str(home / "mine" / "model"), "--user", "u1"]) == 0
    finally:
        (home / "mine" / "model").rename(folder / "model")


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (KeyboardInterrupt(), 130, "interrupted"),
        (
            OSError(errno.ENOSPC, "No space left on device", "mine/top.csv"),
            1,
            "No space left on device: check the disk",
        ),
    ],
)
def test_what_ends_it_early_leaves_the_table_of_last_night(
    error: BaseException,
    code: int,
    said: str,
    home: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(["last", "--user", "u1", "--output", "mine/top.csv"]) == 0
    before = Path("mine/top.csv").read_bytes()

    def table_of(*_: object) -> None:
        raise error

    monkeypatch.setattr(predict, "table_of", table_of)
    monkeypatch.setattr("sys.argv", ["recx", "predict", "last", "--output", "mine/top.csv"])
    assert main.main() == code
    assert said in capsys.readouterr().err
    assert {path.name: path.read_bytes() for path in Path("mine").iterdir()} == {"top.csv": before}
