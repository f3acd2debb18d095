"""The same task on both sides of a split is counted and shown, and one event per task alarms nobody.

Public case 31, and variants of it.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import recx
from recx.config.compose import compose, plain
from recx.experiment import build
from recx.experiment.advice import advice
from recx.experiment.doctor import Finding, examine
from recx.parts.shared.same_text import core_of, tasks_of

TOOLS = [f"t{number}" for number in range(12)]


def tasks(count: int = 1200) -> list[dict[str, Any]]:
    """Return tasks of eight random words with random answers, three to a trace."""
    rng = random.Random(3)
    words = [f"w{number}" for number in range(400)]
    return [
        {
            "trace_id": f"a{number // 3}",
            "node_id": number % 3,
            "task": " ".join(rng.choices(words, k=8)),
            "ground_truth": rng.choice(TOOLS),
        }
        for number in range(count)
    ]


def write(folder: Path, selections: list[dict[str, Any]]) -> None:
    pool = {"tools": {tool: {"description": f"does thing {tool}", "inputs": ""} for tool in TOOLS}}
    (folder / "tool_pool.json").write_text(json.dumps(pool))
    (folder / "tool_selection.json").write_text(json.dumps({"selections": selections}))


def findings(*words: str) -> dict[str, Finding]:
    experiment = build.plan(plain(compose(words))).experiment
    interactions, split = experiment.load_and_split()
    return {one.name: one for one in examine(interactions, split, [5, 10], experiment.fold)}


def again(one: dict[str, Any], text: Callable[[str], str] = str) -> dict[str, Any]:
    return {**one, "trace_id": f"again-{one['trace_id']}", "task": text(one["task"])}


SPELLINGS: dict[str, Callable[[str], str]] = {
    "word for word": str,
    "another case": str.upper,
    "other blanks": lambda text: f"  {text.replace(' ', '  ')}\n",
    "punctuation": lambda text: text.replace(" ", ", ") + "!",
    "full width": lambda text: text.replace("w", "ｗ"),
}


@pytest.mark.parametrize("how", SPELLINGS)
def test_public_31_a_task_that_stands_in_two_traces_is_counted(how: str, here: Path) -> None:
    one = tasks(300)
    write(here, [*one, *(again(task, SPELLINGS[how]) for task in one)])
    found = findings("+experiment=tools", "dataset.path=.")["texts_on_both_sides"]
    assert (found.of, found.verdict) == (120, "bad")  # a fifth of 200 traces of 3 tasks
    experiment = build.plan(plain(compose(["+experiment=tools", "dataset.path=."]))).experiment
    split = experiment.load_and_split()[1]
    asked = set(split.fold.requests.user.tolist())
    assert found.count == sum((user + 300) % 600 not in asked for user in asked)
    assert found.why.startswith("what they ask stands in train or valid too, but for case, blanks and punctuation")
    assert " of test and " in found.why
    assert found.why.endswith("split=by_user split.group=[trace,text] keeps such requests on one side")


def test_following_the_advice_leaves_no_such_task_and_no_skill(here: Path) -> None:
    one = tasks(300)
    write(here, [*one, *map(again, one)])
    words = ["+experiment=tools", "dataset.path=.", "split=by_user", "split.group=[trace,text]"]
    for fold in ("test", "valid"):
        found = findings(*words, f"fold={fold}")["texts_on_both_sides"]
        assert (found.count, found.of, found.verdict, found.why) == (0, 120, "fine", "")


@pytest.mark.slow
def test_random_answers_score_only_where_the_same_is_asked_on_both_sides(here: Path) -> None:
    one = tasks()
    write(here, [*one, *map(again, one)])
    words = ["+experiment=tools", "dataset.path=.", "cache=off", "tracker=console", "ranker.resamples=0"]
    leaking, apart = recx.run(words), recx.run([*words, "split=by_user", "split.group=[trace,text]"])
    assert leaking.metrics["end_to_end/top_1_accuracy"] > 0.5
    assert apart.metrics["end_to_end/top_1_accuracy"] < 0.15  # 1 of 12 tools
    said = advice(leaking.metrics, leaking.findings)[0]
    assert said.startswith(
        "the figures may be too good for 84% of the requests: what they ask stands in train or valid"
    )
    assert not any("too good" in sentence for sentence in advice(apart.metrics, apart.findings))


@pytest.mark.parametrize(("fold", "says"), [("test", "train or valid"), ("valid", "train")])
def test_the_sentence_names_the_fold_and_the_side(fold: str, says: str, here: Path) -> None:
    one = tasks(300)
    write(here, [*one, *map(again, one)])
    why = findings("+experiment=tools", "dataset.path=.", f"fold={fold}")["texts_on_both_sides"].why
    assert why.startswith(f"what they ask stands in {says} too")
    assert f" of {fold} and " in why


def test_a_task_that_stands_twice_in_one_trace_is_no_leak(here: Path) -> None:
    one = tasks(300)
    write(here, [*one, *({**task, "node_id": f"again-{task['node_id']}"} for task in one)])
    found = findings("+experiment=tools", "dataset.path=.")["texts_on_both_sides"]
    assert (found.count, found.verdict) == (0, "fine")


def test_queries_of_documents_are_looked_at_too(here: Path) -> None:
    queries = "".join(f"q{number},how do I do thing {number // 2}{'?' * (number % 2)}\n" for number in range(60))
    (here / "queries.csv").write_text(f"id,text\n{queries}")
    documents = "".join(f"d{number},this does thing {number}\n" for number in range(30))
    (here / "documents.csv").write_text(f"id,text\n{documents}")
    grades = "".join(f"q{number},d{number // 2},1\n" for number in range(60))
    (here / "grades.csv").write_text(f"query,item,grade\n{grades}")
    words = ["+experiment=rerank", "dataset=judged", "dataset.path=.", "retriever=text", "ranker=bm25"]
    found = findings(*words)
    assert found["texts_on_both_sides"].verdict == "bad"
    assert found["texts_on_both_sides"].why.endswith("split=by_user split.group=text keeps such requests on one side")
    apart = findings(*words, "split=by_user", "split.group=text")["texts_on_both_sides"]
    assert (apart.count, apart.of) == (0, 12)


@pytest.mark.slow
def test_a_node_inside_a_graph_asks_what_its_root_asks() -> None:
    experiment = build.plan(plain(compose(["+experiment=agents"]))).experiment
    users = experiment.dataset.load().users
    asked = tasks_of(users)
    inner = users.table["request"] != ""
    assert inner.any()
    assert [core_of(text) for text in users.table["request"][inner]] == asked[inner].tolist()
    assert [core_of(text) for text in users.table["text"][~inner]] == asked[~inner].tolist()
    assert findings("+experiment=agents")["texts_on_both_sides"].count > 0
    words = ("+experiment=agents", "split=by_user", "split.group=text")
    assert findings(*words)["texts_on_both_sides"].count == 0


EXPECTED = ("users_with_one_event", "users_unseen", "users_without_events", "items_without_events", "targets_unseen")


@pytest.mark.parametrize("words", [["+experiment=tools"], ["+experiment=agents"], ["+experiment=rerank"]])
def test_one_event_a_task_is_right(words: list[str]) -> None:
    found = findings(*words)
    assert found["users_unseen"].share == 1  # so these counts are as high as they can be
    assert {found[name].verdict for name in EXPECTED} == {"fine"}
    assert {found[name].why for name in EXPECTED} == {""}


def test_people_with_one_event_are_still_a_reason_to_look(here: Path) -> None:
    rows = "".join(f"u{number},i{number % 5},{1_506_816_000_000 + number}\n" for number in range(300))
    more = "".join(
        f"v{number},i{step},{1_506_816_100_000 + number + step}\n" for number in range(60) for step in range(3)
    )
    (here / "clicks.csv").write_text(f"user,item,time\n{rows}{more}")
    words = ["+experiment=table", "dataset.path=clicks.csv", "dataset.time=time"]
    found = findings(*words)
    assert found["users_with_one_event"].verdict == "bad"
    assert "texts_on_both_sides" not in found
    strangers = findings(*words, "split=by_user")
    assert strangers["users_with_one_event"].verdict == "fine"  # none is needed as history
    assert strangers["users_unseen"].verdict == "look"  # nothing is known of them, not even a text


@pytest.mark.parametrize("name", ["metatool"])
def test_real_tasks_have_few_twins_and_no_false_alarm(name: str, shared_data: Callable[[str], Path]) -> None:
    found = findings("+experiment=tools", f"dataset.path={shared_data(name)}")
    assert (found["texts_on_both_sides"].count, found["texts_on_both_sides"].of) == (8, 3092)
    assert [one.name for one in found.values() if one.verdict != "fine"] == ["texts_on_both_sides"]


def test_what_counts_as_the_same() -> None:
    assert core_of("What is it?") == core_of(" what  is IT") == core_of("Ｗhat-is_it…") == "whatisit"
    assert core_of("北京，天气！") == core_of("北京天气")
    assert core_of("à la carte") == core_of("a\u0300 la carte") != core_of("a la carte")
    assert core_of("?!") == "?!" != core_of("!?")
    assert core_of("  ") == ""
    assert len({core_of(text) for text in ("ก็", "กี", "ก")}) == 3  # marks that no letter stands for


@pytest.mark.slow
def test_groups_of_two_columns_join_what_is_equal_in_one(here: Path) -> None:
    """Users a and b share a trace, b and c a text; d stands alone."""
    answers = {"a": ("x", "one"), "b": ("x", "two"), "c": ("y", "Two!"), "d": ("z", "three")}
    rows = [
        {"trace_id": trace, "node_id": node, "task": text, "ground_truth": "t1"}
        for node, (trace, text) in answers.items()
    ]
    many = [{"trace_id": f"m{n}", "node_id": 0, "task": f"other {n}", "ground_truth": "t2"} for n in range(20)]
    write(here, [*rows, *many])
    words = ["+experiment=tools", "dataset.path=.", "split=by_user", "split.group=[trace,text]"]
    experiment = build.plan(plain(compose(words))).experiment
    sides = set()
    for seed in range(30):
        splitter: Any = replace(experiment.splitter, seed=seed)
        asked = replace(experiment, splitter=splitter).load_and_split()[1].fold.requests.user
        sides.add(tuple(np.isin(range(4), asked).tolist()))
    assert {side[:3] for side in sides} == {(True, True, True), (False, False, False)}
    assert {side[3] for side in sides} == {True, False}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Convert 1.5 USD", "Convert 15 USD"),
        ("Is x -5?", "Is x 5?"),
        ("What is C++?", "What is C#?"),
        ("What is C?", "What is C++?"),
        ("Is 5 > 3?", "Is 5 < 3?"),
        ("Add 1 2", "Add 12"),
        ("5 % of it", "5 of it"),
        ("Wie viel sind 1,5 €?", "Wie viel sind 15 €?"),
    ],
)
def test_numbers_and_signs_that_change_the_meaning_are_no_punctuation(one: str, other: str) -> None:
    assert core_of(one) != core_of(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Pay 1,000 dollars", "pay 1000 dollars."),
        ("e-mail the team", "Email the team!"),
        ("# Write a mail", "write a mail"),
        ("Book 2016-03-09", "book 2016-03-09 …"),
        ("Say – it", "say it"),
    ],
)
def test_punctuation_around_words_and_numbers_changes_nothing(one: str, other: str) -> None:
    assert core_of(one) == core_of(other)
