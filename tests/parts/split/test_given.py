"""The split that the data brings, and the users of a file, by hand and against plain loops."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recx.core.errors import InputError
from recx.core.given_folds import GIVEN
from recx.core.protocols import FoldName
from recx.core.types import Array, Interactions
from recx.parts.split.by_time import ByTime
from recx.parts.split.by_user import ByUser
from recx.parts.split.given import Given
from recx.parts.split.leave_last import LeaveLast
from recx.testing import check_splitter, tiny_world

Shown = Callable[..., tuple[list[list[int]], list[list[int]], list[int], list[int] | None]]
EVENTS = [[(1, 10), (2, 20), (3, 30), (4, 40)], [(5, 11), (6, 35)], [(7, 36)], [(8, 12), (9, 13)]]
FOLDS = [[0, 0, 1, 2], [0, 2], [2], [0, 0]]


def giving(world: Interactions, folds: list[list[int]]) -> Interactions:
    return replace(world, given_fold=np.array([code for of_user in folds for code in of_user], dtype=np.int8))


@pytest.fixture
def world(drawn: Callable[..., Interactions]) -> Interactions:
    return giving(drawn(EVENTS), FOLDS)


def test_test_is_asked_of_train_and_valid(world: Interactions, shown: Shown) -> None:
    split = Given(LeaveLast()).split(world, "test")
    assert shown(split.fold) == ([[1, 2, 3], [5], [], [8, 9]], [[4], [6], [7], []], [0, 1, 2], [40, 35, 36])
    assert split.past is not None
    assert shown(split.past) == ([[1, 2], [5], [], [8, 9]], [[3], [], [], []], [0], [30])
    assert "past_within_train" not in split.notes
    assert split.fold.history.given_fold is None


def test_valid_is_asked_of_train_and_the_ranker_learns_within_train(world: Interactions, shown: Shown) -> None:
    split = Given(LeaveLast()).split(world, "valid")
    assert shown(split.fold) == ([[1, 2], [5], [], [8, 9]], [[3], [], [], []], [0], [30])
    assert split.past is not None
    assert shown(split.past) == ([[1], [5], [], [8]], [[2], [], [], [9]], [0, 3], [20, 13])
    assert (split.notes["past_within_train"], split.notes["past_requests"]) == (1, 2)
    assert Given(None).split(world, "valid").past is None
    assert Given(LeaveLast(), past="none").split(world, "valid").past is None
    assert Given(LeaveLast(n=2)).split(world, "valid").past is None  # nobody has three events in train


def test_without_valid_the_ranker_learns_within_train(drawn: Callable[..., Interactions], shown: Shown) -> None:
    split = Given(LeaveLast()).split(giving(drawn(EVENTS), [[0, 0, 0, 2], [0, 2], [2], [0, 0]]), "test")
    assert split.past is not None
    assert shown(split.past)[:3] == ([[1, 2], [5], [], [8]], [[3], [], [], [9]], [0, 3])


def test_predict_knows_everything_and_learns_from_test(world: Interactions, shown: Shown) -> None:
    split = Given(LeaveLast()).split(world, "predict")
    assert len(split.fold.history) == len(world)
    assert split.fold.requests.user.tolist() == [0, 1, 2, 3]
    assert split.past is not None
    assert shown(split.past)[1] == [[4], [6], [7], []]


def test_new_users_can_be_left_out(world: Interactions, shown: Shown) -> None:
    split = Given(LeaveLast(), min_history=1).split(world, "test")
    assert shown(split.fold)[2] == [0, 1]
    assert split.notes["test_users_left_out_too_little_history"] == 1
    assert Given(LeaveLast()).split(world, "test").notes["test_users_left_out_too_little_history"] == 0


def test_requests_can_follow_the_last_known_event(world: Interactions, shown: Shown) -> None:
    split = Given(LeaveLast(), request_time="last_event").split(world, "test")
    assert shown(split.fold)[2:] == ([0, 1, 2], [31, 12, 31])


def test_an_event_in_two_folds_is_refused_dropped_or_kept(drawn: Callable[..., Interactions], shown: Shown) -> None:
    events = [[(1, 10), (2, 20), (2, 20), (1, 30)], [(5, 11), (6, 35)]]
    world = giving(drawn(events), [[0, 0, 2, 2], [0, 2]])
    message = r"1 of 3 targets of test are in the history of their user too.*item 2 of user 0: set split.overlap=drop"
    with pytest.raises(InputError, match=message):
        Given(LeaveLast()).split(world, "test")
    dropped = Given(LeaveLast(), overlap="drop").split(world, "test")
    assert shown(dropped.fold)[1] == [[1], [6]]  # the other pair comes back at another time
    assert dropped.notes["test_targets_in_history_too_dropped"] == 1
    kept = Given(LeaveLast(), overlap="keep").split(world, "test")
    assert shown(kept.fold)[1] == [[2, 1], [6]]
    assert kept.notes["test_targets_in_history_too_kept"] == 1


def test_without_times_every_pair_again_is_ambiguous(drawn: Callable[..., Interactions], shown: Shown) -> None:
    events = [[(1, 10), (2, 20), (2, 20), (1, 30)], [(5, 11), (6, 35)]]
    world = giving(drawn(events, times=False), [[0, 0, 2, 2], [0, 2]])
    with pytest.raises(InputError, match="2 of 3 targets of test are in the history"):
        Given(LeaveLast()).split(world, "test")
    assert shown(Given(LeaveLast(), overlap="drop").split(world, "test").fold)[1] == [[], [6]]


def test_older_targets_are_refused_dropped_or_kept(drawn: Callable[..., Interactions], shown: Shown) -> None:
    world = giving(drawn(EVENTS), [[0, 2, 0, 2], [0, 2], [2], [0, 0]])
    message = r"1 of 4 targets of test are older than the last event.*item 2 of user 0: set split.older=drop"
    with pytest.raises(InputError, match=message):
        Given(LeaveLast()).split(world, "test")
    dropped = Given(LeaveLast(), older="drop").split(world, "test")
    assert shown(dropped.fold)[:2] == ([[1, 3], [5], [], [8, 9]], [[4], [6], [7], []])
    kept = Given(LeaveLast(), older="keep").split(world, "test")
    assert shown(kept.fold)[1] == [[2, 4], [6], [7], []]
    assert kept.notes["test_targets_older_than_history_kept"] == 1


def test_what_the_data_does_not_give_is_refused(drawn: Callable[..., Interactions], world: Interactions) -> None:
    with pytest.raises(InputError, match="split=given needs data that says which events"):
        Given(LeaveLast()).split(drawn(EVENTS), "test")
    only_train = giving(drawn(EVENTS), [[0, 0, 0, 2], [0, 2], [2], [0, 0]])
    with pytest.raises(InputError, match="fold=valid: the data gives no event to valid, only to train, test"):
        Given(LeaveLast()).split(only_train, "valid")
    with pytest.raises(InputError, match="split=given, or leave out what says it"):
        LeaveLast().split(world, "test")


@pytest.mark.parametrize("times", [True, False])
@pytest.mark.parametrize("request_time", ["target", "last_event"])
def test_a_given_split_keeps_its_promises(times: bool, request_time: Any) -> None:
    tiny = tiny_world(times=times)
    last = np.arange(len(tiny)) - np.repeat(tiny.indptr[1:], tiny.lengths)
    folds = np.where(last == -1, 2, np.where(last == -2, 1, 0)).astype(np.int8)
    splitter = Given(LeaveLast(), overlap="keep", request_time=request_time)
    check_splitter(splitter, replace(tiny, given_fold=folds))


ROWS = st.lists(
    st.tuples(st.integers(0, 2), st.integers(0, 2), st.integers(0, 3), st.sampled_from(GIVEN)), min_size=1, max_size=14
)


@given(rows=ROWS, timed=st.booleans())
def test_faults_are_found_as_by_plain_loops(rows: list[tuple[int, int, int, str]], timed: bool) -> None:
    columns = ["user", "item", "time", "fold"]
    frame = pd.DataFrame(rows, columns=columns).drop(columns=[] if timed else ["time"])
    if timed and frame["time"].nunique() < 2:
        return
    notes = {"relative_times": 1}
    data = Interactions.from_frame(frame, order="auto" if timed else "given", notes=notes, relative_times=timed)
    assert data.given_fold is not None
    folds: tuple[FoldName, FoldName] = ("test", "valid")
    for fold in folds:
        code = GIVEN.index(fold)
        before = [row for row in rows if GIVEN.index(row[3]) < code]
        targets = [row for row in rows if row[3] == fold]
        twins = [row for row in targets if any(row[: 3 if timed else 2] == old[: 3 if timed else 2] for old in before)]
        left = [row for row in targets if row not in twins]
        older = [row for row in left if timed and any(old[0] == row[0] and old[2] > row[2] for old in before)]
        splitter = Given(None, overlap="drop", older="drop")
        if len(twins) + len(older) == len(targets):
            with pytest.raises(InputError, match=f"fold={fold}"):
                splitter.split(data, fold)
            continue
        split = splitter.split(data, fold)
        assert split.notes.get(f"{fold}_targets_in_history_too_dropped", 0) == len(twins)
        assert split.notes.get(f"{fold}_targets_older_than_history_dropped", 0) == len(older)
        assert split.fold.target is not None
        assert len(split.fold.target) == len(targets) - len(twins) - len(older)
        assert len(split.fold.history) == len(before)


def test_duplicates_are_dropped_within_a_fold_only() -> None:
    rows = [
        ("a", 1, 5, "train"),
        ("a", 1, 5, "Training"),
        ("a", 1, 5, " TEST "),
        ("b", 2, 6, "dev"),
        ("b", 3, 9, "test"),
    ]
    frame = pd.DataFrame(rows, columns=["user", "item", "time", "fold"])
    data = Interactions.from_frame(frame, relative_times=True, duplicates="drop")
    assert data.notes["duplicate_rows"] == 1
    assert data.given_fold is not None
    assert data.given_fold.tolist() == [0, 2, 1, 2]
    assert data.keep(data.item > 0).given_fold.tolist() == [1, 2]  # type: ignore[union-attr]


@pytest.mark.parametrize("word", ["eval", 0, "", None])
def test_words_that_mean_no_fold_are_refused(word: object) -> None:
    frame = pd.DataFrame({"user": [1, 1], "item": [1, 2], "time": [1, 5], "fold": np.array(["train", word], object)})
    with pytest.raises(InputError, match=r"column 'fold', row 2: .* is none of train, valid and test"):
        Interactions.from_frame(frame, relative_times=True)


SPLITS = {"leave_last": LeaveLast, "by_time": partial(ByTime, "45m"), "by_user": ByUser}


@pytest.fixture
def listed(tmp_path: Path) -> Callable[[str], Path]:
    def write(text: str) -> Path:
        (tmp_path / "users.txt").write_bytes(text.encode())
        return tmp_path / "users.txt"

    return write


def test_only_the_users_of_a_file_are_asked(listed: Callable[[str], Path], shown: Shown, world: Interactions) -> None:
    file = listed("\ufeffuser_id\r\n2\r\n\r\n0\n0\n77\n3")
    data = replace(world, given_fold=None)
    everyone, some = LeaveLast().split(data, "test"), LeaveLast(users=file).split(data, "test")
    assert shown(everyone.fold)[2] == [0, 1, 3]
    assert shown(some.fold)[1:3] == ([[4], [], [], [9]], [0, 3])
    assert len(some.fold.history) == len(everyone.fold.history)  # whoever is asked
    assert some.past is not None
    assert everyone.past is not None
    assert shown(some.past) == shown(everyone.past)
    counts = {name: some.notes[name] for name in some.notes if "listed" in name}
    assert counts == {"users_not_listed": 1, "listed_users_unknown": 1, "listed_users_without_request": 1}
    assert some.notes["users_left_out_too_few_events"] == everyone.notes["users_left_out_too_few_events"] == 1
    assert LeaveLast(users=file).split(data, "predict").fold.requests.user.tolist() == [0, 2, 3]
    assert shown(Given(None, users=file).split(world, "test").fold)[2] == [0, 2]
    drawn = LeaveLast(users=file, max_users=1).split(data, "test")
    assert (len(drawn.fold.requests), drawn.notes["users_not_drawn"]) == (1, 1)


@pytest.mark.parametrize("kind", SPLITS.values(), ids=SPLITS.keys())
def test_every_split_takes_a_file_of_users(kind: Any, tmp_path: Path) -> None:
    tiny, file = tiny_world(), tmp_path / "users"
    asked = kind().split(tiny, "test").fold.requests.user
    ids: Array = tiny.users.ids[asked]
    file.write_text("\n".join(ids[::2]))
    assert kind(users=file).split(tiny, "test").fold.requests.user.tolist() == asked[::2].tolist()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty|names no user"),
        ("user\n\n", "it names no user: write one id a line"),
        ("0\n1,5\n", "line 2: '1,5' is more than an id: write one id a line"),
        ("77\n78", "none of its users has a request in fold=test, and the data knows 0 of its 2 ids.*such as 0"),
        ("2", "none of its users has a request in fold=test, and the data knows 1 of its 1 ids"),
        ("0\n\0\n", "users.txt"),
    ],
)
def test_bad_files_of_users_are_refused(
    text: str, message: str, listed: Callable[[str], Path], world: Interactions
) -> None:
    with pytest.raises(InputError, match=message):
        LeaveLast(users=listed(text)).split(replace(world, given_fold=None), "test")


def test_a_file_of_users_must_exist(world: Interactions) -> None:
    with pytest.raises(InputError, match=r"split.users=nowhere.txt: .*no such file"):
        LeaveLast(users=Path("nowhere.txt")).split(replace(world, given_fold=None), "test")
