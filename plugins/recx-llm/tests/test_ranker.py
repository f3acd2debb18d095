"""A model at an endpoint orders candidates by its answers alone, and what is wrong with an answer is counted."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from recx_llm import asking
from recx_llm.ranker import DryRun, Llm

from recx.plugin import Fold, InputError, Interactions, RankedLists, RecxError
from recx.testing import check_ranker, last_out, some_candidates

from .conftest import CANDIDATE, Reply, Server, by_text, told_world


def llm(server: Server, **settings: Any) -> Llm:
    return Llm(server.url, "tiny", **settings)


def ranked(ranker: Llm, fold: Fold | None = None) -> tuple[RankedLists, RankedLists]:
    """Return the candidates of the tiny world and what became of them."""
    fold = fold or last_out(told_world())
    candidates = some_candidates(fold)
    return candidates, ranker.rank(candidates, fold.history, fold.requests)


def texts(lists: RankedLists, world: Interactions | None = None) -> list[list[str]]:
    """Return the texts of the items of each list, in their order."""
    table = (world or told_world()).items.table["text"]
    return [
        [str(table[item]) for item in lists.item[a:b]] for a, b in zip(lists.indptr, lists.indptr[1:], strict=False)
    ]


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


def no_blank() -> Interactions:
    made = told_world()
    made.items.table["text"][-1] = "5 item"
    return made


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


def test_prompts_show_the_query_and_the_items_of_earlier_events(server: Server) -> None:
    fold = last_out(told_world())
    ranked(llm(server, history=2, concurrency=1), fold)
    candidates = some_candidates(fold)
    first = int(np.flatnonzero(candidates.lengths > 1)[0])
    user = int(candidates.user[first])
    rows = slice(int(fold.history.indptr[user]), int(fold.history.indptr[user + 1]))
    known = [str(fold.history.items.table["text"][item]) for item in fold.history.item[rows]][-2:]
    prompt = server.asked[0]["messages"][0]["content"]
    assert f"task of user {user}\n" in prompt
    assert "".join(f"- {text}\n" for text in known) in prompt


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


def one_list(fold: Fold, length: int) -> tuple[RankedLists, Any]:
    candidates = some_candidates(fold)
    one = np.flatnonzero(candidates.lengths >= length)[:1]
    return candidates.take(one).top(length), fold.requests[one]


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


def test_too_many_broken_answers_stop_the_run(server: Server) -> None:
    server.reply = lambda prompt: "I cannot do that."
    ranker, fold = llm(server, concurrency=1), last_out(told_world())
    lists = int((some_candidates(fold).lengths > 1).sum())
    with pytest.raises(RecxError) as raised:
        ranked(ranker, fold)
    most = int(0.1 * lists)
    assert len(server.asked) == most + 1  # no more is asked than is needed to know it
    assert str(raised.value) == (
        f"{most + 1} of {lists} answers cannot be read, more than ranker.max_broken allows; the last of them is "
        "'I cannot do that.': look at ranker.prompt, ranker.model and ranker.max_tokens"
    )


def test_answers_are_kept_by_content(server: Server, tmp_path: Path) -> None:
    _, first = ranked(llm(server, cache=str(tmp_path)))
    asked = len(server.asked)
    _, again = ranked(llm(server, cache=str(tmp_path), retries=0, concurrency=1, timeout="5s"))
    assert len(server.asked) == asked
    assert np.array_equal(first.item, again.item)
    assert (again.notes["llm_requests_sent"], again.notes["llm_requests_kept"]) == (0, asked)
    same = ("llm_requests_input_tokens", "llm_requests_output_tokens", "llm_values_missing")
    assert [again.notes[name] for name in same] == [first.notes[name] for name in same] == [100 * asked, 10 * asked, 0]
    ranked(llm(server, cache=str(tmp_path), temperature=0.5))
    assert len(server.asked) == 2 * asked  # what changes an answer changes its key


def test_a_run_that_was_stopped_asks_only_for_what_is_missing(server: Server, tmp_path: Path) -> None:
    def fails_from_the_fifth(prompt: str) -> str | Reply:
        return by_text(prompt) if len(server.asked) < 5 else Reply(status=400, body=b'{"error": {"message": "no"}}')

    server.reply = fails_from_the_fifth
    settings: dict[str, Any] = {"cache": str(tmp_path), "concurrency": 1}
    with pytest.raises(InputError, match="HTTP 400, no: correct the settings of ranker"):
        ranked(llm(server, **settings))
    server.reply = by_text
    server.asked.clear()
    _, after = ranked(llm(server, **settings))
    assert after.notes["llm_requests_kept"] == 4
    assert len(server.asked) == after.notes["llm_requests_sent"]


def test_a_damaged_answer_is_asked_for_again(server: Server, tmp_path: Path) -> None:
    ranked(llm(server, cache=str(tmp_path)))
    damaged = sorted(tmp_path.rglob("*.json"))[:4]
    damaged[0].write_text("{")
    damaged[1].write_text('{"text": 1}')
    damaged[2].write_text('{"text": "[1]", "other": 1}')
    damaged[3].unlink()
    damaged[3].symlink_to(sorted(tmp_path.rglob("*.json"))[5])
    server.asked.clear()
    _, after = ranked(llm(server, cache=str(tmp_path)))
    assert after.notes["llm_requests_sent"] == len(server.asked) == 4


def test_a_dry_run_says_what_it_would_ask_and_asks_nothing(server: Server) -> None:
    prices = {"tiny": {"input": 10.0, "output": 100.0}}
    with pytest.raises(DryRun) as raised:
        ranked(llm(server, dry_run=True, max_tokens=50, prices=prices))
    assert server.asked == []
    assert raised.value.exit_code == 0
    fold = last_out(told_world())
    lists = int((some_candidates(fold).lengths > 1).sum())
    assert f"{lists} calls of tiny" in str(raised.value)
    assert f"at most {50 * lists:,} of answers (at most " in str(raised.value)
    with pytest.raises(DryRun, match=f"about {(4 * 20 + 16) * lists:,} of answers"):
        ranked(llm(server, dry_run=True, max_tokens=None))
    with pytest.raises(DryRun, match=f"at most {30 * lists:,} of answers"):
        ranked(llm(server, dry_run=True, max_tokens=None, extra={"max_completion_tokens": 30}))


def test_the_cost_is_known_before_anything_is_asked(server: Server) -> None:
    prices = {"tiny": {"input": 0.0, "output": 1000.0}}
    fold = last_out(told_world())
    lists = int((some_candidates(fold).lengths > 1).sum())
    cost = lists * 20 * 1000 / 1e6
    with pytest.raises(InputError, match=rf"the calls to come bring the cost to {cost:.4g}, as estimated"):
        ranked(llm(server, max_tokens=20, prices=prices, max_cost=cost - 1e-6))
    assert server.asked == []
    _, after = ranked(llm(server, max_tokens=20, prices=prices, max_cost=cost + 1e-6))
    assert after.notes["llm_requests_cost"] == pytest.approx(lists * 10 * 1000 / 1e6)


def test_a_run_that_costs_more_than_estimated_stops_at_the_limit(server: Server) -> None:
    server.reply = lambda prompt: Reply(by_text(prompt), usage={"prompt_tokens": 0, "completion_tokens": 1000})
    prices = {"tiny": {"input": 0.0, "output": 1000.0}}  # 1 for each answer
    with pytest.raises(InputError, match="3 are spent"):
        ranked(llm(server, max_tokens=10, prices=prices, max_cost=3, concurrency=1))
    assert len(server.asked) == 3


def test_blocks_of_requests_share_the_limit(server: Server) -> None:
    prices = {"tiny": {"input": 0.0, "output": 1000.0}}
    fold = last_out(told_world())
    candidates = some_candidates(fold)
    ranker = llm(server, max_tokens=10, prices=prices, max_cost=0.2)  # for 20 answers
    half = candidates.n_lists // 2
    ranker.rank(candidates[:half], fold.history, fold.requests[np.arange(half)])
    spent = len(server.asked)
    assert 10 < spent <= 20  # so that a second one is too much
    with pytest.raises(InputError, match=f"{0.01 * spent:.4g} are spent"):
        ranker.rank(candidates[:half], fold.history, fold.requests[np.arange(half)])
    assert len(server.asked) == spent


def test_an_endpoint_that_does_not_count_has_its_tokens_estimated(server: Server) -> None:
    server.reply = lambda prompt: Reply(by_text(prompt), usage=None)
    before, after = ranked(llm(server))
    assert after.notes["llm_requests_without_usage"] == (before.lengths > 1).sum()
    size = sum(-(-len(body["messages"][0]["content"].encode()) // 4) + 8 for body in server.asked)
    assert after.notes["llm_requests_input_tokens"] == size


def test_a_prompt_of_ones_own(server: Server, tmp_path: Path) -> None:
    file = tmp_path / "mine.txt"
    file.write_text("{{ query }}?{% for one in items %}\n[{{ loop.index }}] {{ one }}{% endfor %}")
    _, after = ranked(llm(server, prompt=str(file)))
    assert server.asked[0]["messages"][0]["content"].startswith("task of user ")
    assert after.notes["llm_requests_broken"] == 0


def test_a_text_is_no_template_and_is_shortened(server: Server) -> None:
    world = told_world()
    world.users.table["text"][:] = "{{ 7 * 7 }}\nand [1] " + "many words " * 50
    ranked(llm(server, max_words=5), last_out(world))
    assert "\n{{ 7 * 7 }}\n" in server.asked[0]["messages"][0]["content"]


@pytest.mark.parametrize(
    ("template", "said"),
    [
        ("{{ query }", "line 1: unexpected '}': correct the template"),
        ("{{ query }} {{ itens }}", "{{ itens }} is unknown: did you mean 'items'?"),
        ("{{ query }}", "it does not use items, what is to be judged: add {{ items }}"),
        ("{{ items }}", "it shows neither query nor history: add {{ query }}"),
        ("{{ query }} {{ items.pop() }}", "fails ("),
        ("{{ query }} {{ items.__class__.__mro__ }}", "fails ("),
        ("{% include '/etc/passwd' %} {{ query }} {{ items }}", "fails ("),
    ],
)
def test_a_prompt_that_is_none_is_reported(server: Server, tmp_path: Path, template: str, said: str) -> None:
    file = tmp_path / "mine.txt"
    file.write_text(template)
    with pytest.raises(InputError) as raised:
        ranked(llm(server, prompt=str(file)))
    assert str(raised.value).startswith(f"ranker.prompt={file}")
    assert said in str(raised.value)
    assert server.asked == []


KEY = "sk-proj-0123456789abcdef"


def test_the_key_is_sent_and_shown_nowhere(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", KEY)
    ranker = llm(server, api_key_env="MY_KEY", cache=str(tmp_path))
    ranked(ranker)
    assert {sent["Authorization"] for sent in server.sent} == {f"Bearer {KEY}"}
    assert not any(KEY in file.read_text() for file in tmp_path.rglob("*.json"))
    server.reply = lambda prompt: Reply(
        status=401, body=json.dumps({"error": {"message": f"Incorrect API key provided: {KEY}"}}).encode()
    )
    with pytest.raises(InputError) as raised:
        ranked(llm(server, api_key_env="MY_KEY"))
    assert str(raised.value) == (
        f"{server.url}: HTTP 401, Incorrect API key provided: ***: correct ranker.api_key_env or the variable that it "
        "names"
    )
    assert KEY not in repr(ranker)


@pytest.mark.parametrize("held", ["abc def", "abc\nX-Other: 1", "schlüssel"], ids=["blank", "line", "umlaut"])
def test_what_is_no_key_is_refused_and_not_repeated(server: Server, monkeypatch: pytest.MonkeyPatch, held: str) -> None:
    monkeypatch.setenv("MY_KEY", held)
    with pytest.raises(InputError) as raised:
        llm(server, api_key_env="MY_KEY").preflight()
    assert str(raised.value) == (
        "ranker.api_key_env=MY_KEY: what it holds is no key, of ASCII without blanks: correct it"
    )


def test_a_key_in_a_long_error_is_not_shown_in_part(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", KEY)
    server.reply = lambda prompt: Reply(status=400, body=b"x" * 190 + f" {KEY}".encode())
    with pytest.raises(InputError) as raised:
        ranked(llm(server, api_key_env="MY_KEY"))
    assert KEY[:6] not in str(raised.value)


def test_a_key_in_place_of_its_name_is_refused_and_not_repeated() -> None:
    with pytest.raises(InputError, match="it must be the NAME of an environment variable") as raised:
        Llm(api_key_env=KEY)
    assert KEY not in str(raised.value)


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


def test_the_calls_of_a_run_are_spread_over_time(server: Server) -> None:
    fold = last_out(told_world())
    candidates = some_candidates(fold)
    four = np.flatnonzero(candidates.lengths > 1)[:4]
    start = time.monotonic()
    llm(server, requests_per_minute=600).rank(candidates.take(four), fold.history, fold.requests[four])
    assert time.monotonic() - start >= 0.3
    assert len(server.asked) == 4


@pytest.mark.parametrize("concurrency", [1, 3])
def test_so_many_lists_are_asked_about_at_once(server: Server, concurrency: int) -> None:
    lock, now, most = threading.Lock(), 0, 0

    def counted(prompt: str) -> str:
        nonlocal now, most
        with lock:
            now += 1
            most = max(most, now)
        time.sleep(0.02)
        with lock:
            now -= 1
        return by_text(prompt)

    server.reply = counted
    ranked(llm(server, concurrency=concurrency))
    assert most == concurrency


def test_an_interrupt_does_not_wait_for_the_endpoint(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    server.reply = lambda prompt: Reply(by_text(prompt), wait=30)

    def interrupted(*_: Any, **__: Any) -> None:
        while not server.asked:
            time.sleep(0.01)
        raise KeyboardInterrupt

    monkeypatch.setattr(asking, "wait", interrupted)
    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        ranked(llm(server))
    assert time.monotonic() - start < 15


def test_it_runs_where_an_event_loop_runs_already(server: Server) -> None:
    """As in a notebook."""

    async def cell() -> tuple[RankedLists, RankedLists]:
        return ranked(llm(server))

    _, after = asyncio.run(cell())
    assert after.notes["llm_requests_sent"] == len(server.asked) > 0


def test_a_world_without_texts_is_reported(server: Server, world: Callable[..., Interactions]) -> None:
    with pytest.raises(InputError, match=r"ranker.history=0: the users of this dataset have no text"):
        ranked(llm(server, history=0), last_out(world(queries=False)))
