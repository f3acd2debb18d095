"""A model at an endpoint orders candidates by its answers alone, and what is wrong with an answer is counted."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from recx_llm.ranker import Llm

from recx.plugin import InputError, Interactions, RecxError
from recx.testing import check_ranker, last_out, some_candidates

from .conftest import CANDIDATE, Reply, Server, llm, no_blank, one_list, ranked, texts, told_world


@pytest.mark.parametrize("mode", ["listwise", "pointwise"])
@pytest.mark.parametrize("queries", [True, False], ids=["queries", "history"])
def test_it_fulfils_the_contract_of_a_ranker_but_is_not_kept(
    server: Server, tmp_path: Path, mode: Any, queries: bool
) -> None:
    ranker = llm(server, mode=mode, window=3, stride=2, top=6, concurrency=8, cache=str(tmp_path))
    with pytest.raises(AssertionError, match="an address to which texts would be sent"):  # the last of its checks
        check_ranker(ranker, told_world(queries=queries))


def test_listwise_the_order_is_that_of_the_answers(server: Server) -> None:
    before, after = ranked(llm(server))
    shown = [sorted(one, key=lambda text: text or "(no text)") for one in texts(before)]
    blank = before.user == 29  # whose user has no text; they have no event either
    assert blank.sum() == 0
    assert texts(after) == shown
    assert after.notes["llm_requests_sent"] == len(server.asked) == (before.lengths > 1).sum()
    assert all(body["model"] == "tiny" and body["temperature"] == 0 for body in server.asked)
    assert server.paths == ["/v1/chat/completions"] * len(server.asked)


def test_pointwise_the_order_is_that_of_the_grades_and_ties_keep_theirs(server: Server) -> None:
    before, after = ranked(llm(server, mode="pointwise", top=5, concurrency=8), last_out(no_blank()))
    old, new = texts(before.top(5), no_blank()), texts(after.top(5), no_blank())
    assert new == [sorted(one, key=lambda text: -int(text[0])) for one in old]  # which is stable
    assert len(server.asked) == sum(len(one) for one in old if len(one) > 1)


def test_the_window_moves_from_the_end_upwards(server: Server) -> None:
    """Of five in windows of three that move by two: first the last three, then the first three with the winner."""
    fold = last_out(no_blank())
    candidates = some_candidates(fold)
    one = np.flatnonzero(candidates.lengths >= 5)[:1]
    candidates, requests = candidates.take(one).top(5), fold.requests[one]
    a, b, c, d, e = texts(candidates, no_blank())[0]
    ranker = llm(server, window=3, stride=2)
    after = ranker.rank(candidates, fold.history, requests)
    seen = [[text for _, text in CANDIDATE.findall(body["messages"][0]["content"])] for body in server.asked]
    last = sorted([c, d, e])
    assert seen == [[c, d, e], [a, b, last[0]]]
    assert texts(after, no_blank()) == [[*sorted([a, b, last[0]]), *last[1:]]]


def test_those_below_the_top_keep_their_order(server: Server) -> None:
    before, after = ranked(llm(server, top=3), last_out(no_blank()))
    for old, new in zip(texts(before, no_blank()), texts(after, no_blank()), strict=True):
        assert new == [*sorted(old[:3]), *old[3:]]


def test_a_user_of_whom_nothing_is_known_is_not_asked_about(server: Server) -> None:
    fold = last_out(told_world(queries=False))
    before, after = ranked(llm(server), fold)
    blank = (fold.history.lengths[before.user] == 0) & (before.lengths > 1)
    assert after.notes["requests_not_asked"] == blank.sum()
    assert len(server.asked) == ((before.lengths > 1) & ~blank).sum()


ANSWERS: dict[str, tuple[str, list[int], dict[str, int]]] = {
    "an order": ("[3, 1, 2]", [3, 1, 2], {}),
    "in a fence": ("```json\n[3, 1, 2]\n```", [3, 1, 2], {}),
    "after a thought": ("<think>[1, 2]?</think>\n[3, 1, 2]", [3, 1, 2], {}),
    "in an object": ('{"ranking": [3, 1, 2]}', [3, 1, 2], {}),
    "in one of two members": ('{"ranking": [3, 1, 2], "why": "so"}', [1, 2, 3], {"llm_requests_broken": 1}),
    "doubled": ("[2, 2, 1, 3, 1]", [2, 1, 3], {"llm_values_doubled": 2}),
    "foreign": ('[0, 2, 4, "1", 1.0, true, 3, 1]', [2, 3, 1], {"llm_values_foreign": 5}),
    "missing": ("[3]", [3, 1, 2], {"llm_values_missing": 2}),
    "all foreign": ("[7, 8]", [1, 2, 3], {"llm_requests_broken": 1}),
    "words": ("The best is 3.", [1, 2, 3], {"llm_requests_broken": 1}),
    "half": ("[3, 1", [1, 2, 3], {"llm_requests_broken": 1}),
    "a mapping": ('{"3": 1}', [1, 2, 3], {"llm_requests_broken": 1}),
    "nothing": ("", [1, 2, 3], {"llm_requests_broken": 1}),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_what_is_wrong_with_an_order_is_counted_and_nothing_is_made_up(server: Server, name: str) -> None:
    text, order, wrong = ANSWERS[name]
    server.reply = lambda prompt: text
    fold = last_out(told_world())
    candidates, requests = one_list(fold, 3)
    after = llm(server, max_broken=1).rank(candidates, fold.history, requests)
    assert after.item.tolist() == [candidates.item[number - 1] for number in order]
    counted = ("llm_values_doubled", "llm_values_foreign", "llm_values_missing", "llm_requests_broken")
    assert {name: after.notes[name] for name in counted} == {**dict.fromkeys(counted, 0), **wrong}


def test_an_order_that_was_cut_is_broken_even_if_it_can_be_read(server: Server) -> None:
    server.reply = lambda prompt: Reply("[3, 2, 1]", finish="length")
    fold = last_out(told_world())
    candidates, requests = one_list(fold, 3)
    after = llm(server, max_broken=1).rank(candidates, fold.history, requests)
    assert after.item.tolist() == candidates.item.tolist()
    assert after.notes["llm_requests_broken"] == 1
    with pytest.raises(RecxError, match=r"the last of them was cut by ranker.max_tokens after '\[3, 2, 1\]'"):
        llm(server).rank(candidates, fold.history, requests)


@pytest.mark.parametrize("said", ["11", "-1", "true", '"7"', "NaN", "9 of 10", "{}", '{"grade": 11}'])
def test_a_candidate_whose_grade_cannot_be_read_keeps_its_place(server: Server, said: str) -> None:
    fold = last_out(told_world())
    candidates, requests = one_list(fold, 4)
    third = str(fold.history.items.table["text"][candidates.item[2]])
    answers = iter("012345")
    server.reply = lambda prompt: said if f"\n{third}\n" in prompt else next(answers)
    after = llm(server, mode="pointwise", max_broken=1).rank(candidates, fold.history, requests)
    assert after.item.tolist() == [candidates.item[place] for place in (3, 1, 2, 0)]
    assert after.notes["llm_requests_broken"] == 1


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"url": None}, "ranker.url is not set: name the endpoint and its model, ranker.url and ranker.model"),
        ({"model": None}, "ranker.model is not set: name the endpoint and its model, ranker.url and ranker.model"),
        ({"url": "file:///etc/passwd"}, "it is no address such as http://127.0.0.1:8000/v1: correct it"),
        ({"url": "http://x:99999/v1"}, "it is no address such as http://127.0.0.1:8000/v1: correct it"),
        ({"url": "http://x/v1/chat/completions/"}, "give the base address, without /chat/completions"),
        ({"api_key_env": "NO_SUCH"}, "ranker.api_key_env=NO_SUCH: there is no such environment variable: set it"),
        ({"prompt": "/no/such"}, "ranker.prompt=/no/such cannot be read (No such file or directory)"),
        ({"window": 1}, "ranker.window=1: it must be 2 or more"),
        ({"stride": 21}, "ranker.stride=21: it must be at most ranker.window, 20"),
        ({"extra": {"stream": True}}, "ranker.extra.stream: this field is not for extra"),
        ({"prices": {"tiny": {"input": 1.0}}, "max_cost": 1}, "ranker.prices.tiny: it must be a mapping of input and"),
        ({"max_cost": 1.0}, "ranker.max_cost=1: ranker.prices has no price of tiny: give one"),
        ({"mode": "pairwise"}, "ranker.mode=pairwise: did you mean 'pointwise'?"),
    ],
    ids=str,
)
def test_wrong_settings_are_reported_by_their_key(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError) as raised:
        Llm(**{"url": "http://127.0.0.1:9/v1", "model": "tiny", **settings}).preflight()
    assert said in str(raised.value)


def test_a_world_without_texts_is_reported(server: Server, world: Callable[..., Interactions]) -> None:
    with pytest.raises(InputError, match=r"ranker.history=0: the users of this dataset have no text"):
        ranked(llm(server, history=0), last_out(world(queries=False)))
