"""Tables with splits and candidate lists of their own, and rows chosen by what a column says."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from recx.core.errors import InputError
from recx.core.types import Interactions
from recx.parts.dataset.sequences import Sequences
from recx.parts.dataset.table import Table
from recx.parts.retriever.given import Given as GivenLists
from recx.parts.split.given import Given
from recx.storage.cache import keys

Write = Callable[[str, str], str]
TRAIN = "user,item,time\na,1,1500000010\na,2,1500000020\nb,1,1500000015\n"
VALID = "user,item,time\na,3,1500000030\n"
TEST = "time,user,item\n1500000040,a,4\n1500000041,c,9\n"


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def to(name: str, text: str) -> str:
        (tmp_path / name).write_text(text)
        return str(tmp_path / name)

    return to


def rows(events: Interactions) -> list[tuple[Any, ...]]:
    """Return user, item and fold of every event."""
    folds = ["-"] * len(events) if events.given_fold is None else events.given_fold.tolist()
    return list(zip(events.users.ids[events.user].tolist(), events.items.ids[events.item].tolist(), folds, strict=True))


def test_files_of_folds_are_one_table(write: Write) -> None:
    path, valid, test = write("train.csv", TRAIN), write("valid.csv", VALID), write("test.csv", TEST)
    events = Table(path, valid=valid, test=test, time_unit="s").load()
    assert rows(events) == [("a", 1, 0), ("a", 2, 0), ("a", 3, 1), ("a", 4, 2), ("b", 1, 0), ("c", 9, 2)]
    split = Given(None).split(events, "test")
    assert split.fold.requests.user.tolist() == [0, 2]
    assert split.fold.history.n_items == 5  # item 9 is an item of the data, which no history has
    assert split.past is not None
    assert len(split.past.history) == 3


def test_a_column_says_which_fold_a_row_is_in(write: Write) -> None:
    text = "uid,iid,set\nx,1,Train\nx,2,val\ny,3,TEST\nx,3,test\n"
    events = Table(write("all.csv", text), user="uid", item="iid", fold="set").load()
    assert rows(events) == [("x", 1, 0), ("x", 2, 1), ("x", 3, 2), ("y", 3, 2)]
    with pytest.raises(InputError, match=r"all.csv: column 'fold', row 3: 'eval' is none of train, valid and test"):
        Table(write("all.csv", text.replace("TEST", "eval")), user="uid", item="iid", fold="set").load()


def test_without_a_header_the_column_has_a_number(write: Write) -> None:
    path = write("all.txt", "x;1;train\nx;2;test\ny;1;train\n")
    events = Table(path, user=0, item=1, fold=2, header=False, delimiter=";", order="given").load()
    assert rows(events) == [("x", 1, 0), ("x", 2, 2), ("y", 1, 0)]


def test_ids_are_text_in_all_files_if_they_are_in_one(write: Write) -> None:
    path, test = write("train.csv", "user,item\n1,5\n2,6\n"), write("test.csv", "user,item\n1,x\n")
    events = Table(path, test=test).load()
    assert rows(events) == [(1, "5", 0), (1, "x", 2), (2, "6", 0)]


def test_an_event_in_two_files_is_left_to_the_split(write: Write) -> None:
    path, test = write("train.csv", TRAIN + "a,2,1500000020\n"), write("test.csv", TRAIN[:30])
    events = Table(path, test=test, time_unit="s").load()
    assert events.notes["duplicate_rows"] == 1  # within train
    with pytest.raises(InputError, match="1 of 1 targets of test are in the history of their user too"):
        Given(None).split(events, "test")


def test_the_rows_of_some_values_are_read(write: Write) -> None:
    text = "user,item,event,device\na,1,view,x\na,2,purchase,x\nb,1,purchase,y\nc,3,cart,\nc,4,purchase,z\n"
    path = write("log.csv", text)
    events = Table(path, where={"event": "purchase"}).load()
    assert rows(events) == [("a", 2, "-"), ("b", 1, "-"), ("c", 4, "-")]
    assert events.notes["rows_not_where"] == 2
    assert events.items.ids.tolist() == [1, 2, 4]  # item 3 was never bought
    both = Table(path, where={"event": ["purchase", "cart"], "device": ["x", "z"]}).load()
    assert rows(both) == [("a", 2, "-"), ("c", 4, "-")]
    with pytest.raises(InputError, match=r"'event' never holds 'buy', .* it holds view, purchase, cart"):
        Table(path, where={"event": ["buy"]}).load()
    with pytest.raises(InputError, match=r"dataset.where names a column 'kind', and there is none"):
        Table(path, where={"kind": "view"}).load()


def test_values_that_differ_in_blanks_only_are_one(write: Write) -> None:
    path = write("log.csv", "user,item,event\na,1,buy\na,2,buy \nb,1, buy\nb,2,see\n")
    events = Table(path, where={"event": "buy"}).load()
    assert rows(events) == [("a", 1, "-"), ("a", 2, "-"), ("b", 1, "-")]
    assert events.notes["rows_not_where"] == 1


@pytest.mark.parametrize("words", [("True", "False"), ("true", "false"), ("TRUE", "FALSE")])
def test_true_is_true_however_it_is_written(write: Write, words: tuple[str, str]) -> None:
    path = write("log.csv", f"user,item,clicked\na,1,{words[0]}\na,2,{words[1]}\n")
    with pytest.raises(InputError, match=r"by dataset.where={clicked: VALUE}"):
        Table(path).load()
    for value in (True, words[0]):
        assert rows(Table(path, where={"clicked": value}).load()) == [("a", 1, "-")]


def test_a_key_that_some_files_of_json_lack(write: Write) -> None:
    first = write("1.jsonl", '{"user": "a", "item": 1, "x": 1}\n{"user": "a", "item": 2, "x": 2}\n')
    second = write("2.jsonl", '{"user": "b", "item": 1}\n')
    third = write("3.jsonl", '{"item": 3, "user": "b", "y": "on"}\n')
    paths = (first, second, third)
    assert rows(Table(paths, where={"x": [1]}).load()) == [("a", 1, "-")]
    assert rows(Table(paths, where={"y": ["on"]}).load()) == [("b", 3, "-")]
    with pytest.raises(InputError, match=r"'y' never holds '1', .* it holds on"):
        Table(paths, where={"x": [1], "y": [1]}).load()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"fold": "set", "test": "b.csv"}, "dataset.fold names a column .* give one or the other"),
        ({"fold": "user"}, "dataset.fold=user: dataset.user names this column already"),
        ({"where": {"item": [1]}}, "dataset.where.item: it is the column of dataset.item"),
        ({"where": {"event": []}}, r"dataset.where.event=\[\]: it must be a value"),
        ({"where": {"event": [None]}}, "dataset.where.event="),
        ({"fold": 3}, "dataset.fold=3: columns are numbered in files without a header"),
        ({"fold": "set", "header": False, "user": 0, "item": 1}, "dataset.fold=set: without a header"),
    ],
)
def test_settings_that_contradict_each_other_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Table("a.csv", **settings)


def test_files_of_folds_must_be_there(write: Write) -> None:
    path = write("train.csv", TRAIN)
    with pytest.raises(InputError, match=r"no such file"):
        Table(path, test=str(Path(path).with_name("nowhere.csv")), time_unit="s").load()
    with pytest.raises(InputError, match="column 'item' is missing"):
        Table(path, test=write("test.csv", "user,product,time\na,1,1500000040\n"), time_unit="s").load()


def test_the_cache_sees_every_file(write: Write) -> None:
    path, test = write("train.csv", TRAIN), write("test.csv", TEST)
    before = keys.key_of_part(Table(path, test=test))
    write("test.csv", TEST + "1500000050,a,5\n")
    assert keys.key_of_part(Table(path, test=test)) != before


EVENTS = "user,item\na,1\na,2\nb,1\nc,2\n"


def lists(events: Interactions) -> dict[Any, list[Any]]:
    slates = events.slates
    assert slates is not None
    borders = zip(slates.user, slates.indptr[:-1], slates.indptr[1:], strict=True)
    return {events.users.ids[user]: events.items.ids[slates.item[start:stop]].tolist() for user, start, stop in borders}


@pytest.mark.parametrize("order", ["score", "rank"])
def test_candidate_lists_have_the_order_of_scores_or_ranks(write: Write, order: str) -> None:
    values = [3, 9, 1, 2, 7] if order == "score" else [2, 1, 3, 2, 1]
    pairs = [("b", 1), ("a", 7), ("a", 1), ("a", 2), ("z", 3)]
    text = "".join(f"{user},{item},{value}\n" for (user, item), value in zip(pairs, values, strict=True))
    events = Table(write("e.csv", EVENTS), slates=write("lists.csv", f"user,item,{order}\n{text}")).load()
    assert lists(events) == {"a": [7, 2, 1], "b": [1]}
    assert events.items.ids.tolist() == [1, 2, 7]
    assert rows(events) == [("a", 1, "-"), ("a", 2, "-"), ("b", 1, "-"), ("c", 2, "-")]
    named = {name: events.notes[name] for name in events.notes if "slate" in name}
    assert named == {"slate_users_unknown": 1, "users_without_slate": 1, "slate_items_without_events": 1}


def test_lists_without_scores_have_no_order(write: Write) -> None:
    events = Table(write("e.csv", EVENTS), slates=write("lists.csv", "user,item\na,2\na,1\nb,2\n")).load()
    assert lists(events) == {"a": [2, 1], "b": [2]}
    assert events.slates is not None
    assert not events.slates.score.any()
    shown = GivenLists(seed=0).retrieve(events, Given(None).split(_all_test(events), "test").fold.requests, 1)
    assert shown.notes["requests_with_shuffled_slate"] == 1
    assert shown.lengths.tolist() == [2, 1, 0]


def test_what_is_known_of_items_stays_beside_lists(write: Write) -> None:
    items = write("items.csv", "item,tags,brand,e0,e1\n2,p|q,x,1,2\n1,q,y,3,4\n")
    slates = write("lists.csv", "user,item\na,0\na,2\na,9\n")
    known = Table(write("e.csv", EVENTS), items=items, slates=slates).load().items
    assert known.ids.tolist() == [0, 1, 2, 9]
    assert known.lists["tags"].indptr.tolist() == [0, 0, 1, 3, 3]
    assert known.lists["tags"].code.tolist() == [1, 0, 1]
    assert known.table["brand"].tolist() == [-1, 1, 0, -1]
    assert known.has_embedding.tolist() == [False, True, True, False]


def test_users_of_lists_who_are_no_whole_numbers(write: Write) -> None:
    path = write("e.csv", "user,item\n-1,1\n-1,2\n5,1\n")
    events = Table(path, slates=write("lists.csv", f"user,item\n-1,2\nx,1\nuser,item\n{10**20},1\n5,2\n")).load()
    assert lists(events) == {-1: [2], 5: [2]}
    assert events.notes["slate_users_unknown"] == 2
    assert events.notes["repeated_headers"] == 1


def _all_test(events: Interactions) -> Interactions:
    return replace(events, given_fold=np.full(len(events), 2, np.int8))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("user,item,score,rank\na,1,1,1\n", "there are both score and rank"),
        ("user,item\na,1\na,1\n", "the list of user a has item 1 twice"),
        ("user,item\nx,1\n", "none of its 1 users has events, as a does"),
        ("user,item\na,one\n", "the items are texts, such as 'one', and those of the events whole numbers, as 1 is"),
        ("user,item,position\na,1,1\n", "the column 'position' could order the lists"),
        ("user,item,score\na,1,\n", "row 1: the score is missing"),
        ("user,score\na,1\n", "column 'item' is missing"),
    ],
)
def test_bad_lists_are_refused(text: str, message: str, write: Write) -> None:
    with pytest.raises(InputError, match=message):
        Table(write("e.csv", EVENTS), slates=write("lists.csv", text)).load()


def test_lines_of_users_in_files_of_their_own(write: Write) -> None:
    path, test = write("train.txt", "0 5 3 9\n1 4\n\n2 6 1\n"), write("test.txt", "1 5 2\n0 8\n3 1\n")
    events = Sequences(path, test=test, order="given").load()
    assert rows(events) == [
        *((0, 5, 0), (0, 3, 0), (0, 9, 0), (0, 8, 2)),
        *((1, 4, 0), (1, 5, 2), (1, 2, 2)),
        *((2, 6, 0), (2, 1, 0), (3, 1, 2)),
    ]
    assert events.notes["blank_lines"] == 1
    assert Given(None).split(events, "test").fold.requests.user.tolist() == [0, 1, 3]
    with pytest.raises(InputError, match=r"^[^:]*test.txt: user '1' is on lines 1 and 2"):
        Sequences(path, test=write("test.txt", "1 5\n1 2\n")).load()
