"""Kind 4 of issue 15: lists of items sorted by id are not taken for sequences in order of time."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from recx.core.errors import InputError
from recx.core.types import Interactions
from recx.parts.dataset.sequences import Sequences
from recx.parts.dataset.table import Table

SORTED = "the events have no times, and .* sorted by id: set order=given if .*, or order=none if .*dataset.order=none"
Lists = dict[str, list[int]]


def lists(n_users: int = 30, seed: int = 0) -> Lists:
    """Distinct items of users in a random order, 1 to 12 each."""
    rng = np.random.default_rng(seed)
    return {f"u{user}": rng.permutation(200)[: rng.integers(1, 13)].tolist() for user in range(n_users)}


def ordered(given: Lists, *, falling: bool = False) -> Lists:
    return {user: sorted(items, reverse=falling) for user, items in given.items()}


def write(path: Path, given: Lists, name: Callable[[int], str] = str) -> str:
    path.write_text("".join(f"{user} {' '.join(map(name, items))}\n" for user, items in given.items()))
    return str(path)


def frame(given: Lists) -> pd.DataFrame:
    return pd.DataFrame([(user, item) for user, items in given.items() for item in items], columns=["user", "item"])


def read_back(events: Interactions) -> Lists:
    ids = events.items.ids[events.item].tolist()
    return {
        str(user): ids[a:b] for user, a, b in zip(events.users.ids, events.indptr[:-1], events.indptr[1:], strict=True)
    }


@pytest.mark.parametrize("falling", [False, True])
@pytest.mark.parametrize("name", [str, "i{}".format, "{:04d}".format, "item-{}-x".format, "x{:03d}".format])
def test_lists_that_are_sorted_are_refused(tmp_path: Path, name: Callable[[int], str], falling: bool) -> None:
    path = write(tmp_path / "train.txt", ordered(lists(), falling=falling), name)
    with pytest.raises(InputError, match=f"train.txt: {SORTED}"):
        Sequences(path).load()


def test_texts_sorted_as_texts_are_refused_too(tmp_path: Path) -> None:
    by_text = {user: sorted(items, key=str) for user, items in lists().items()}  # 10 before 9
    with pytest.raises(InputError, match=SORTED):
        Sequences(write(tmp_path / "train.txt", by_text, "i{}".format)).load()


def test_a_few_lists_that_are_not_sorted_change_nothing(tmp_path: Path) -> None:
    given = ordered(lists(60)) | {"late": [5, 3, 9, 1]}
    with pytest.raises(InputError, match=SORTED):
        Sequences(write(tmp_path / "train.txt", given)).load()


def test_the_setting_decides(tmp_path: Path) -> None:
    given = ordered(lists())
    path = write(tmp_path / "train.txt", given)
    assert read_back(Sequences(path, order="given").load()) == given
    first, again, other = (read_back(Sequences(path, order="none", seed=seed).load()) for seed in (0, 0, 1))
    assert first == again != other
    assert first != given
    assert ordered(first) == given
    last = [items[-1] == max(items) for items in first.values() if len(items) >= 5]
    assert sum(last) < len(last) / 2  # leave_last holds out random items, no longer the largest


@pytest.mark.parametrize("seed", range(20))
def test_lists_in_another_order_are_read_without_a_word(tmp_path: Path, seed: int) -> None:
    given = lists(seed=seed)
    assert read_back(Sequences(write(tmp_path / "s.txt", given)).load()) == given
    assert read_back(Interactions.from_frame(frame(given))) == given


@pytest.mark.parametrize(
    "given",
    [
        {"a": [1, 2, 3], "b": [4, 5, 6], "c": [1, 5, 9]},  # chance does that once in 216
        {f"u{n}": [n, n + 1] for n in range(100)},  # two items can only rise or fall
        {f"u{n}": [7, 7, 7, 7] for n in range(100)},
        {f"u{n}": [3, 4, 5, n % 7] for n in range(100)},  # as where items are numbered as they come
    ],
)
def test_lists_that_happen_to_rise_are_read(tmp_path: Path, given: Lists) -> None:
    assert read_back(Sequences(write(tmp_path / "s.txt", given)).load()) == given
    frame(given).to_csv(tmp_path / "log.csv", index=False)
    assert read_back(Table(str(tmp_path / "log.csv")).load()) == given


@pytest.mark.parametrize("times", [None, 1_500_000_000_000, "rows", "steps"])
def test_pairs_sorted_by_item_are_refused_in_tables_and_frames(tmp_path: Path, times: int | str | None) -> None:
    """Such as the pairs of a matrix; times that are all the same or only number the rows say nothing more."""
    pairs = frame(ordered(lists()))
    n = np.arange(len(pairs))
    if times is not None:
        pairs["time"] = {"rows": n, "steps": 1_500_000_000_000 + 1000 * n}.get(str(times), times)
    pairs.to_csv(tmp_path / "log.csv", index=False)
    settings = {} if times is None else {"time": "time", "time_unit": "ms"}
    with pytest.raises(InputError, match=SORTED):
        Table(str(tmp_path / "log.csv"), **settings).load()  # type: ignore[arg-type]
    with pytest.raises(InputError, match=SORTED):
        Interactions.from_frame(pairs)
    given = Table(str(tmp_path / "log.csv"), order="given", **settings).load()  # type: ignore[arg-type]
    assert read_back(given) == ordered(lists())
    without = Table(str(tmp_path / "log.csv"), order="none", **settings).load()  # type: ignore[arg-type]
    assert without.time is None
    assert read_back(without) != ordered(lists())
    assert ordered(read_back(without)) == ordered(lists())


def test_sorted_items_with_times_of_their_own_are_read_by_time(tmp_path: Path) -> None:
    pairs = frame(ordered(lists()))
    pairs["time"] = np.random.default_rng(0).permutation(len(pairs)) * 60_000 + 1_500_000_000_000
    events = Interactions.from_frame(pairs)
    expected = {user: rows.sort_values("time")["item"].tolist() for user, rows in pairs.groupby("user")}
    assert read_back(events) == {user: expected[user] for user in pairs["user"].unique()}
    with pytest.raises(InputError, match="the events have times, so they have an order"):
        Interactions.from_frame(pairs, order="none")


def test_the_case(tmp_path: Path, shared_data: Callable[[str], Path]) -> None:
    """Public case 04: events of MovieLens in order of time, and sorted as in LightGCN's train.txt."""
    log = pd.read_csv(shared_data("ml-100k/ml-100k.inter.gz"), sep="\t").set_axis(["user", "item", "r", "time"], axis=1)
    log = log[log["user"].isin(sorted(log["user"].unique())[:200])].sort_values(["user", "time"], kind="stable")
    in_time = {str(user): rows["item"].tolist() for user, rows in log.groupby("user")}
    assert read_back(Sequences(write(tmp_path / "in_time.txt", in_time)).load()) == in_time
    with pytest.raises(InputError, match="200 of 200 users"):
        Sequences(write(tmp_path / "train.txt", ordered(in_time))).load()
    log[["user", "item"]].to_csv(tmp_path / "log.csv", index=False)
    assert read_back(Table(str(tmp_path / "log.csv")).load()) == in_time


def test_a_header_between_sequences_is_no_user(tmp_path: Path) -> None:
    part = "user_id:token item_id_list:token_seq\n{} 5 3\n"
    (tmp_path / "s.txt").write_text(part.format("a") + "\ufeff" + part.format("b").replace("user_id", "USER_ID"))
    events = Sequences(str(tmp_path / "s.txt")).load()
    assert read_back(events) == {"a": [5, 3], "b": [5, 3]}
    assert events.notes["header_lines"] == 2
