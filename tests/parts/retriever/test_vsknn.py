"""Session kNN by hand, and against the formulas of V-SkNN, STAN and VSTAN written out session by session."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import log, sqrt

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from recx.core.errors import InputError
from recx.core.types import Interactions, Requests
from recx.parts.retriever import vsknn as module
from recx.parts.retriever.vsknn import VSkNN
from recx.parts.shared.top_k import Eligibility

H = 3_600_000  # ms
Drawn = Callable[..., Interactions]


def clicks(*items: int, since: int = 0) -> list[tuple[int, int]]:
    """Return one click an hour."""
    return [(item, (since + n) * H) for n, item in enumerate(items)]


def asked(lists_of: VSkNN, history: Interactions, at: int = 100) -> list[tuple[int, float]]:
    """Return the items and scores of user 0, asking after so many hours."""
    lists = lists_of.fit(history).retrieve(history, Requests(np.zeros(1, np.int32), np.array([at * H])), 9)
    return list(zip(lists.item.tolist(), lists.score.tolist(), strict=True))


def test_neighbours_vote_for_what_else_they_have(drawn: Drawn) -> None:
    world = drawn([clicks(0, 1), clicks(1, 2), clicks(0, 1, 3), clicks(0, 4)], 6)
    # Weights of 0 and 1: 1/2 and 2/2. Similarity of {1, 2}: 1 / 2, of {0, 1, 3}: 1.5 / 2, of {0, 4}: 0.5 / 2.
    # The last shared click is the newest for the first two, the one before for the third, which halves its vote.
    assert asked(VSkNN(), world) == [(3, 0.75), (2, 0.5), (4, 0.125)]
    assert asked(VSkNN(decay="same"), world) == [(3, 0.75), (2, 0.5), (4, 0.25)]
    assert asked(VSkNN(weighting="same", decay="same"), world) == [(3, 1.0), (2, 0.5), (4, 0.5)]
    assert asked(VSkNN(neighbours=1), world) == [(3, 0.75)]
    assert asked(VSkNN(last=1), world) == [(2, 1.0), (3, 1.0)]
    assert asked(VSkNN(seen="keep"), world) == [(1, 1.25), (0, 0.875), (3, 0.75), (2, 0.5), (4, 0.125)]


def test_the_session_that_asks_is_no_neighbour(drawn: Drawn) -> None:
    # Also where it is stored as it was before its last click.
    world = drawn([clicks(0, 1, 2), clicks(2, 3)], 5)
    before = drawn([clicks(0, 1), clicks(2, 3)], 5)
    fitted = VSkNN(neighbours=1, seen="keep").fit(before)
    lists = fitted.retrieve(world, Requests(np.zeros(1, np.int32), np.array([9 * H])), 9)
    assert lists.item.tolist() == [2, 3]


def test_clicks_at_or_after_the_request_do_not_count(drawn: Drawn) -> None:
    world = drawn([clicks(0), clicks(0, 1, 2, since=1)], 4)
    assert [item for item, _ in asked(VSkNN(), world, at=4)] == [1, 2]
    assert [item for item, _ in asked(VSkNN(), world, at=3)] == [1]
    assert asked(VSkNN(), world, at=2) == []  # a session of one click says nothing


def test_the_most_recent_sessions_are_compared(drawn: Drawn) -> None:
    world = drawn([clicks(0), clicks(0, 1, since=5), clicks(0, 2, since=7), clicks(0, 3, since=6)], 5)
    assert [item for item, _ in asked(VSkNN(sample=2), world)] == [2, 3]
    assert [item for item, _ in asked(VSkNN(sample=2), world, at=7)] == [1]  # that of 3 has one click by then
    assert sorted(item for item, _ in asked(VSkNN(sample=3), world, at=8)) == [1, 3]


def test_a_pause_ends_a_session(drawn: Drawn) -> None:
    world = drawn([[(0, 0), (1, H), (2, 10 * H)], [(2, 0), (3, H)], [(1, 0), (4, H)]], 6)
    assert sorted(item for item, _ in asked(VSkNN(), world)) == [3, 4]
    assert [item for item, _ in asked(VSkNN(gap="2h"), world)] == [3]
    assert len(VSkNN(gap="2h").fit(world).indptr) - 1 == 4
    # The user's own earlier session is a neighbour like any other.
    back = drawn([[(0, 0), (1, H), (0, 10 * H)]], 3)
    assert asked(VSkNN(gap="2h", seen="keep"), back) == [(0, 1.0), (1, 1.0)]


def test_without_times_the_seed_orders_the_sessions(drawn: Drawn, shown: Callable) -> None:
    world = drawn([[(0, 0)], *([(0, 0), (item, 0)] for item in range(1, 30))], 31, times=False)
    requests = Requests(np.zeros(1, np.int32))
    few = [shown(VSkNN(sample=3, seed=seed).fit(world).retrieve(world, requests, 9)) for seed in (0, 0, 1)]
    assert few[0] == few[1] != few[2]
    assert len(few[0][0]) == 3
    assert shown(VSkNN().fit(world).retrieve(world, requests, 99)) == [[*range(1, 30)]]


@pytest.mark.parametrize(("key", "value"), [("half_life", "1h"), ("gap", "30m")])
def test_what_needs_times_is_refused_where_there_are_none(drawn: Drawn, key: str, value: str) -> None:
    with pytest.raises(InputError, match=rf"retriever\.{key}={value} needs the times .* write retriever\.{key}=null"):
        VSkNN(**{key: value}).fit(drawn([clicks(0, 1)], 2, times=False))


def test_sessions_of_one_click_each_are_refused(drawn: Drawn) -> None:
    with pytest.raises(InputError, match=r"every session of this data has one click: choose another retriever$"):
        VSkNN().fit(drawn([clicks(0), clicks(1)], 2))
    with pytest.raises(InputError, match=r"choose another retriever, or a longer retriever\.gap"):
        VSkNN(gap="1m").fit(drawn([clicks(0, 1), clicks(1, 2)], 3))


def test_without_any_click_nothing_is_retrieved(drawn: Drawn, shown: Callable) -> None:
    world = drawn([[], []], 3, times=False)
    assert shown(VSkNN().fit(world).retrieve(world, Requests(np.array([0, 1], dtype=np.int32)), 2)) == [[], []]


def test_other_items_are_refused(drawn: Drawn) -> None:
    with pytest.raises(InputError, match="retriever=vsknn was fitted on 3 items, and this history has 4"):
        VSkNN().fit(drawn([clicks(0, 1)], 3)).retrieve(drawn([clicks(0, 1)], 4), Requests(np.zeros(1, np.int32)), 2)


def test_similar_items_are_those_of_the_sessions_with_it(drawn: Drawn) -> None:
    fitted = VSkNN().fit(drawn([clicks(0, 1), clicks(1, 0, 2), clicks(3, 4)], 6))
    assert fitted.similar(0, 5).item.tolist() == [1, 2]
    assert fitted.similar(0, 5).score.tolist() == [2, 1]
    assert fitted.similar(5, 5).item.tolist() == []


@pytest.mark.parametrize(
    ("key", "value"),
    [("neighbours", 0), ("sample", 0), ("last", 0), ("weighting", "log"), ("decay", "x"), ("recency", 0.0),
     ("normalise", "lift"), ("position_decay", 1.5), ("half_life", "1"), ("idf", -1.0), ("gap", "0s"), ("seed", -1)],
)  # fmt: skip
def test_bad_settings_are_refused(key: str, value: object) -> None:
    with pytest.raises(InputError, match=f"retriever.{key}="):
        VSkNN(**{key: value})


WORLDS = st.lists(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 3)), max_size=7), min_size=2, max_size=7).filter(
    lambda users: any(len(user) > 1 and all(gap < 3 for _, gap in user) for user in users)
)
"""The events of each user: item, and hours since the last one."""
FADING = st.sampled_from(["div", "geometric", "same"])
SETTINGS = st.fixed_dictionaries(
    {
        "neighbours": st.integers(1, 8),
        "sample": st.integers(1, 9),
        "last": st.integers(1, 5),
        "weighting": FADING,
        "decay": FADING,
        "recency": st.sampled_from([0.5, 1.0]),
        "normalise": st.sampled_from(["none", "cosine"]),
        "position_decay": st.sampled_from([0.5, 1.0]),
        "half_life": st.sampled_from([None, "2h"]),
        "idf": st.sampled_from([0.0, 5.0]),
        "gap": st.sampled_from([None, "2h"]),
        "seen": st.sampled_from(["drop", "keep"]),
    }
)
Session = list[tuple[int, int]]


def sessions_of(events: Session, of: VSkNN) -> list[Session]:
    found: list[Session] = []
    for item, time in events:
        if not found or (of.gap is not None and time - found[-1][-1][1] > 2 * H):
            found.append([])
        found[-1].append((item, time))
    return found


def faded(kind: str, place: int, n: int, recency: float, div: float) -> float:
    return {"div": div, "geometric": recency ** (n - place), "same": 1.0}[kind]


def by_sessions(users: Sequence[Session], user: int, now: int, of: VSkNN) -> dict[int, float]:
    """Return the scores of the items, without rules of what may be shown."""
    every = [session for events in users for session in sessions_of(events, of)]
    if not users[user]:
        return {}
    current = sessions_of(users[user], of)[-1]
    items = [item for item, _ in current][-of.last :]
    n = len(items)
    weight = {item: faded(of.weighting, p, n, of.recency, p / n) for p, item in enumerate(items, start=1)}
    known = [[event for event in session if event[1] < now] for session in every]
    known = [session for session in known if len(session) > 1 and current[: len(session)] != session]
    touched = [(max((t for i, t in session if i in weight), default=-1), session) for session in known]
    recent = sorted((one for one in touched if one[0] >= 0), key=lambda one: -one[0])[: of.sample]
    near = []
    for _, session in recent:
        distinct = {item for item, _ in session}
        similarity = sum(weight[item] for item in distinct & set(weight))
        norm = sqrt(sum(w * w for w in weight.values())) * sqrt(len(distinct))
        similarity /= norm if of.normalise == "cosine" else len(weight)
        if of.half_life is not None:
            similarity *= 0.5 ** ((now - session[-1][1]) / (2 * H))
        near.append((similarity, session))
    near = sorted(near, key=lambda one: -one[0])
    assume(len(near) <= of.neighbours or near[of.neighbours - 1][0] - near[of.neighbours][0] > 1e-9)
    near = near[: of.neighbours]
    scores: dict[int, float] = {}
    for similarity, session in near:
        last = {item: p for p, (item, _) in enumerate(session)}
        pivot = max(p for item, p in last.items() if item in weight)
        place = max(p for p, item in enumerate(items, start=1) if item in last)
        decay = faded(of.decay, place, n, of.recency, 1 / (n - place + 1))
        for item, p in last.items():
            rarity = 1 + of.idf * log(len(every) / sum(item in [i for i, _ in session] for session in every))
            value = similarity * decay * of.position_decay ** abs(p - pivot) * rarity
            scores[item] = scores.get(item, 0) + value
    return scores


@given(users=WORLDS, settings=SETTINGS, after=st.integers(0, 20))
def test_lists_are_those_of_the_formulas(
    drawn: Drawn, users: list[Session], settings: dict[str, object], after: int
) -> None:
    of = VSkNN(**settings)  # type: ignore[arg-type]
    # Some seconds more for each user: no two users click at one time, so that the order of sessions is known.
    timed = [
        [(item, int(time) * H + 1000 * u + n) for n, (item, time) in enumerate(zip([i for i, _ in user], np.cumsum(
            [gap for _, gap in user]), strict=True))] for u, user in enumerate(users)
    ]  # fmt: skip
    history = drawn(timed, 8)
    now = np.full(len(users), after * H + 500)
    if max((len(session) for user in timed for session in sessions_of(user, of)), default=0) < 2:
        return
    requests = Requests(np.arange(len(users), dtype=np.int32), now)
    lists = of.fit(history).retrieve(history, requests, 8)
    hidden = Eligibility(history, of.seen).hidden(requests)
    for user in range(len(users)):
        expected = by_sessions(timed, user, int(now[user]), of)
        expected = {item: score for item, score in expected.items() if score > 0 and not hidden[user, item]}
        row = slice(lists.indptr[user], lists.indptr[user + 1])
        assert dict(zip(lists.item[row].tolist(), lists.score[row].tolist(), strict=True)) == pytest.approx(expected)


def test_threads_and_blocks_change_no_bit(monkeypatch: pytest.MonkeyPatch, drawn: Drawn) -> None:
    rng = np.random.default_rng(3)
    users = [[(int(item), H * n) for n, item in enumerate(rng.integers(0, 20, 6))] for _ in range(40)]
    world = drawn(users, 20)
    requests = Requests(np.arange(40, dtype=np.int32), np.full(40, 9 * H))

    def made() -> list[bytes]:
        lists = VSkNN(neighbours=5).fit(world).retrieve(world, requests, 5)
        return [array.tobytes() for array in (lists.indptr, lists.item, lists.score)]

    whole = made()
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    monkeypatch.setattr(module, "LISTS", 3)
    assert made() == whole
