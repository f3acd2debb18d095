from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import recx
from recx.config.compose import compose, plain
from recx.core.errors import InputError
from recx.core.types import Interactions, RankedLists, Requests
from recx.evaluation.evaluator import Evaluator
from recx.experiment import build
from recx.experiment.experiment import Experiment
from recx.jobs.doctor import diagnosis
from recx.parts.dataset.synthetic_tools import make_tools
from recx.parts.dataset.tool_selection import ToolSelection
from recx.parts.ranker.identity import Identity
from recx.parts.retriever.given import Given
from recx.parts.split.by_user import ByUser
from recx.testing import check_dataset

POOL = {"mail": "sends mail", "Weather_App": "tells the weather", "calc": "computes"}


def task(trace: Any, node: Any, text: str, truth: Any, *offered: str) -> dict[str, Any]:
    record = {"trace_id": trace, "node_id": node, "task": text, "ground_truth": truth}
    return {**record, "retrieved_candidates": [{"tool_name": name} for name in offered]} if offered else record


def written(folder: Path, *selections: Any, pool: dict[str, str] = POOL) -> ToolSelection:
    tools = {name: {"description": text, "inputs": ""} for name, text in pool.items()}
    (folder / "tool_pool.json").write_text(json.dumps({"tools": tools}))
    with gzip.open(folder / "tool_selection.json.gz", "wt") as file:
        json.dump({"selections": selections}, file)
    return ToolSelection(path=str(folder))


def test_a_user_is_a_node_and_an_item_a_tool(tmp_path: Path) -> None:
    dataset = written(tmp_path, task("t1", "0", "post it", "mail"), task("t1", "1", "rain?", "Weather_App"))
    check_dataset(dataset)
    data = dataset.load()
    assert data.users.ids.tolist() == ["t1/0", "t1/1"]
    assert {name: column.tolist() for name, column in data.users.table.items()} == {
        "text": ["post it", "rain?"],
        "trace": ["t1", "t1"],
        "node": ["0", "1"],
    }
    assert data.items.ids.tolist() == ["Weather_App", "calc", "mail"]
    assert data.items.table["name"].tolist() == ["Weather_App", "calc", "mail"]
    assert data.items.table["text"].tolist()[1] == "calc computes"
    assert data.item.tolist() == [2, 0]
    assert data.time is None
    assert data.slates is None
    assert data.to_predict is None


def test_the_files_own_candidates_are_the_slates(tmp_path: Path) -> None:
    data = written(
        tmp_path,
        task("a", 0, "x", "mail", "calc", "mail", "calc", "nowhere"),
        task("b", 0, "y", "calc"),
        task("c", 0, "z", "calc", "mail"),
    ).load()
    assert data.slates is not None
    assert data.slates.user.tolist() == [0, 2]
    assert data.slates.indptr.tolist() == [0, 2, 3]
    assert data.slates.item.tolist() == [1, 2, 2]
    expected = {
        "candidates_twice": 1,
        "candidates_not_in_the_pool": 1,
        "tasks_without_candidates": 1,
        "tasks_whose_candidates_lack_the_truth": 1,
        "tasks_without_truth": 0,
        "tasks_with_several_tools": 0,
    }
    assert data.notes == expected
    lists = Given().retrieve(data, Requests(np.arange(3, dtype=np.int32)), 1)
    assert lists.lengths.tolist() == [2, 0, 1]


def test_tasks_that_cannot_be_learned_from_are_counted(tmp_path: Path) -> None:
    data = written(
        tmp_path,
        task("a", 0, " \n", "mail"),
        task("b", 0, "no such tool", "fax"),
        task("c", 0, "to be answered", None),
        {"trace_id": "d", "node_id": 0, "task": "to be answered too"},
        task("e", 0, "answered", "mail"),
    ).load()
    assert {name: count for name, count in data.notes.items() if count} == {
        "tasks_empty": 1,
        "tasks_with_unknown_truth": 1,
        "tasks_without_truth": 2,
    }
    assert data.users.ids.tolist() == ["c/0", "d/0", "e/0"]
    assert data.lengths.tolist() == [0, 0, 1]
    assert data.to_predict is not None
    assert data.to_predict.tolist() == [0, 1]
    assert ByUser().split(data, "predict").fold.requests.user.tolist() == [0, 1]


def test_several_tools_may_be_right(tmp_path: Path) -> None:
    dataset = written(
        tmp_path,
        task("a", 0, "post the rain", ["mail", "Weather_App", "mail"], "calc", "mail"),
        task("a", 1, "x", "calc", "mail"),
        task("b", 0, "y", ["calc"], "calc"),
        task("c", 0, "one of them is no tool", ["calc", "fax"]),
    )
    check_dataset(dataset)
    data = dataset.load()
    assert data.indptr.tolist() == [0, 2, 3, 4]
    assert data.item.tolist() == [2, 0, 1, 1]
    assert data.notes["tasks_with_several_tools"] == 1
    assert data.notes["tasks_with_unknown_truth"] == 1
    assert data.notes["tasks_whose_candidates_lack_the_truth"] == 1


def test_the_doctor_counts_tasks_with_several_tools_with_none_and_with_unknown_ones(tmp_path: Path) -> None:
    truths: list[Any] = [["mail", "calc"], [], None, *["calc"] * 37]
    written(tmp_path, *(task(n, 0, f"task {n}", truth) for n, truth in enumerate(truths)))
    found = diagnosis(["+experiment=tools", f"dataset.path={tmp_path}", "dataset.abstain=nothing"])
    counted = {one.name: (one.count, one.of, one.verdict) for one in found.findings if one.name.startswith("tasks_")}
    assert counted == {
        "tasks_without_truth": (1, 40, "fine"),
        "tasks_with_several_tools": (1, 40, "fine"),
        "tasks_without_tool": (1, 40, "fine"),
    }


def test_the_first_tool_counts_if_any_is_right_and_recall_counts_all(tmp_path: Path) -> None:
    """Every task needs two tools and is offered one of them, the other, and a wrong one, in this order."""
    pair = ["mail", "calc"]
    offered = [{"tool_name": name, "rank": n} for n, name in enumerate(["calc", "Weather_App", "mail"], start=1)]
    dataset = written(
        tmp_path, *({**task(n, 0, f"task {n}", pair), "retrieved_candidates": offered} for n in range(20))
    )
    end_to_end = ["top_1_accuracy", "recall_at_2", "recall_at_3", "precision_at_2", "ndcg_at_2"]
    evaluator = Evaluator([], [], end_to_end)
    report = Experiment(dataset, ByUser(past="none"), Given(), Identity(), evaluator).run().report
    assert report is not None
    assert {name.removeprefix("end_to_end/"): report.means[f"end_to_end/{name}"] for name in end_to_end} == {
        "top_1_accuracy": 1,
        "recall_at_2": 0.5,
        "recall_at_3": 1,
        "precision_at_2": 0.5,
        "ndcg_at_2": pytest.approx(1 / (1 + 1 / np.log2(3))),
    }


def test_an_item_stands_for_no_tool(tmp_path: Path) -> None:
    selections = (
        task("a", 0, "post it", "mail", "calc", "mail"),
        task("b", 0, "sing", []),
        task("c", 0, "dance", "nothing"),
        task("d", 0, "who knows", None),
    )
    dataset = replace(written(tmp_path, *selections), abstain="nothing")
    check_dataset(dataset)
    data = dataset.load()
    assert data.items.ids.tolist() == ["Weather_App", "calc", "mail", "nothing"]
    assert data.items.table["text"][3] == ""
    assert data.items.table["is_abstain"].tolist() == [0, 0, 0, 1]
    assert data.item.tolist() == [2, 3, 3]
    assert data.notes["tasks_without_tool"] == 2
    assert data.notes["tasks_without_truth"] == 1


def test_a_tool_of_the_pool_may_stand_for_no_tool(tmp_path: Path) -> None:
    data = replace(written(tmp_path, task("a", 0, "x", "mail"), task("b", 0, "y", [])), abstain="calc").load()
    assert data.items.ids.tolist() == ["Weather_App", "calc", "mail"]
    assert data.items.table["text"][1] == "calc computes"
    assert data.items.table["is_abstain"].tolist() == [0, 1, 0]
    assert data.item.tolist() == [2, 1]


def test_what_stands_for_no_tool_has_no_reliability(tmp_path: Path) -> None:
    dataset = replace(written(tmp_path, task("a", 0, "x", "mail"), task("b", 0, "y", [])), abstain="nothing")
    tools = {name: {"description": name, "inputs": "", "sure": n / 4} for n, name in enumerate(POOL)}
    (tmp_path / "tool_pool.json").write_text(json.dumps({"tools": tools}))
    items = replace(dataset, reliability="sure").load().items
    assert items.ids.tolist() == ["Weather_App", "calc", "mail", "nothing"]
    assert items.table["reliability"] == pytest.approx([0.25, 0.5, 0, np.nan], nan_ok=True)


def test_nothing_to_abstain_from_is_refused(tmp_path: Path) -> None:
    dataset = replace(written(tmp_path, task("a", 0, "x", "mail"), task("b", 0, "y", None)), abstain="nothing")
    with pytest.raises(
        InputError, match=r"no task of .* has the ground_truth \[\], .*\(1 have null, which is unknown\)"
    ):
        dataset.load()


def test_no_tool_beside_a_tool_is_refused(tmp_path: Path) -> None:
    dataset = replace(written(tmp_path, task("a", 0, "x", ["mail", "nothing"])), abstain="nothing")
    with pytest.raises(InputError, match=r"selection 1: .* lists 'nothing', which stands for no tool, beside tools"):
        dataset.load()


def test_the_name_of_what_stands_for_no_tool_is_not_blank() -> None:
    with pytest.raises(InputError, match=r"dataset\.abstain=' ' is not a name that is not blank|dataset\.abstain="):
        ToolSelection(abstain=" ")


def test_texts_in_any_script_and_of_any_length_are_read(tmp_path: Path) -> None:
    texts = ["订一张票", "أرسل بريدا", "🙂🙂", "word " * 20_000, "ß\u0000İ"]
    records = [task(f"t{number}", 0, text, "mail") for number, text in enumerate(texts)]
    data = written(tmp_path, *records).load()
    assert data.users.table["text"].tolist() == texts


@pytest.mark.parametrize(
    ("selections", "said"),
    [
        ([task("a", 0, "x", "mail"), task("a", 0, "y", "mail")], r"selection 2: node '0' of trace 'a' appears twice"),
        ([task("a", 0, "x", "fax")], r"none of its 1 tasks .*tasks_with_unknown_truth 1"),
        ([task("a", 0, "x", None)], r"none of its 1 tasks has a ground_truth"),
        ([], r"none of its 0 tasks"),
        ([{"trace_id": "a", "node_id": 0, "ground_truth": "mail"}], r"selection 1: it has no key 'task'"),
        ([task("a", 0, "x", 3)], r"selection 1: 'ground_truth' is 3, and must be text or a list"),
        ([task("a", 0, "x", ["mail", 3])], r"selection 1: 'ground_truth' lists 3, which is no name of a tool"),
        ([task("a", 0, "x", [])], r"selection 1: 'ground_truth' is \[\], which may mean that no tool is right or that"),
        ([task(None, 0, "x", "mail")], r"'trace_id' is null, and must be text or a whole number"),
        (["x"], r"selection 1: it must be an object"),
        ([{**task("a", 0, "x", "mail"), "retrieved_candidates": ["mail"]}], r"retrieved_candidates: it must be an obj"),
    ],
)
def test_bad_files_are_reported_in_one_sentence(tmp_path: Path, selections: list[Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        written(tmp_path, *selections).load()


def test_a_tool_that_appears_twice_is_named(tmp_path: Path) -> None:
    dataset = written(tmp_path, task("a", 0, "x", "mail"))
    (tmp_path / "tool_pool.json").write_text('{"tools": {"mail": {"description": ""}, "mail": {"description": "x"}}}')
    with pytest.raises(InputError, match="'mail' occurs twice"):
        dataset.load()


# ---- the reliability of tools ----


def rated(folder: Path, **values: Any) -> ToolSelection:
    """Return tasks whose pool says how reliable each of its tools is."""
    dataset = written(folder, task("a", 0, "x", "mail"), task("b", 0, "y", "calc"))
    tools = {
        name: {"description": text, **({"success": values[name]} if name in values else {})}
        for name, text in POOL.items()
    }
    (folder / "tool_pool.json").write_text(json.dumps({"tools": tools}))
    return replace(dataset, reliability="success")


def test_a_column_of_the_pool_is_the_reliability_of_tools(tmp_path: Path) -> None:
    data = rated(tmp_path, mail=0.75, calc=None).load()
    assert data.items.ids.tolist() == ["Weather_App", "calc", "mail"]
    assert np.array_equal(data.items.table["reliability"], [np.nan, np.nan, 0.75], equal_nan=True)
    assert data.notes["tools_without_reliability"] == 2
    assert "reliability" not in replace(rated(tmp_path, mail=1), reliability=None).load().items.table


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"mail": 95}, r"tool 'mail': its success is 95, and .* numbers from 0 to 1: divide percentages by 100"),
        ({"mail": -0.1}, r"its success is -0.1"),
        ({"mail": "0.5"}, r'its success is "0.5"'),
        ({"mail": True}, r"its success is true"),
        ({}, r"dataset.reliability=success, and no tool has a value of this name"),
        ({"mail": None}, r"no tool has a value of this name"),
    ],
)
def test_a_bad_reliability_is_refused(tmp_path: Path, values: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        rated(tmp_path, **values).load()


def test_made_up_tools_have_no_reliability_to_name() -> None:
    with pytest.raises(InputError, match=r"dataset.reliability=success names a key of the tools of a file"):
        ToolSelection(reliability="success").load()


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"has no tool_pool.json or tool_pool.json.gz"):
        ToolSelection(path=str(tmp_path)).load()


# ---- the generator ----


def test_generated_tools_meet_the_contract_of_a_dataset() -> None:
    check_dataset(ToolSelection(tasks=50, tools=7))


def test_generated_tasks_may_have_no_tool() -> None:
    dataset = ToolSelection(tasks=300, tools=20, abstain="none of them")
    check_dataset(dataset)
    data = dataset.load()
    assert data.n_items == 21
    assert data.notes["tasks_without_tool"] == np.count_nonzero(data.items.ids[data.item] == "none of them") > 0


def test_as_many_tasks_and_tools_are_generated_as_requested() -> None:
    texts, made = make_tools(200, 13, 3)
    assert len(texts) == 13
    assert len(made) == 200
    assert len({(trace, node) for trace, node, _, _ in made}) == 200
    assert {tool for *_, tool in made} <= set(texts)
    assert make_tools(200, 13, 3) == (texts, made)
    assert make_tools(200, 13, 4) != (texts, made)


@pytest.mark.parametrize(("key", "value"), [("tasks", 9), ("tools", 1), ("seed", -1), ("tasks", 10.5)])
def test_bad_sizes_are_refused(key: str, value: Any) -> None:
    with pytest.raises(InputError, match=f"dataset.{key}={value}"):
        ToolSelection(**{key: value})


# ---- the whole experiment ----


def judged(*overrides: str) -> dict[str, float]:
    report = recx.run(["+experiment=tools", "tracker=console", *overrides]).report
    assert report is not None
    return report.means


def test_what_tools_answered_before_adds_to_what_they_say_of_themselves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    small = ("dataset.tasks=600", "dataset.tools=30", "n_candidates=30")
    classic, all_features = (judged(*small, f"feature={name}") for name in ("tools_classic", "tools"))
    assert classic["end_to_end/top_1_accuracy"] > 5 / 30
    assert all_features["end_to_end/top_1_accuracy"] > classic["end_to_end/top_1_accuracy"] + 0.02


@dataclass(frozen=True)
class Loaded:
    """A dataset that is in memory already."""

    interactions: Interactions

    def load(self) -> Interactions:
        return self.interactions


def chosen(*overrides: str) -> Experiment:
    small = ["+experiment=tools", "dataset.tasks=400", "dataset.tools=20", "n_candidates=15", *overrides]
    return build.experiment(plain(compose(small)))


def test_other_answers_change_neither_candidates_nor_recommendations() -> None:
    first = chosen().run()
    data, asked = first.interactions, first.split.fold.requests.user
    item = data.item.copy()
    rows = np.isin(data.user, asked)
    item[rows] = np.random.default_rng(1).integers(0, data.n_items, rows.sum())
    other = replace(first.experiment, dataset=Loaded(replace(data, item=item))).run()
    for one, two in ((first.candidates, other.candidates), (first.recommendations, other.recommendations)):
        assert np.array_equal(one.item, two.item)
        assert np.array_equal(one.score, two.score)


def test_shuffled_answers_are_found_by_chance_alone() -> None:
    data = chosen("dataset.tasks=3000").dataset.load()
    rng = np.random.default_rng(0)
    slates = RankedLists(
        user=np.arange(data.n_users, dtype=np.int32),
        indptr=np.arange(data.n_users + 1, dtype=np.int64) * 10,
        item=np.argsort(rng.random((data.n_users, data.n_items)), axis=1)[:, :10].astype(np.int32).ravel(),
        score=np.zeros(10 * data.n_users, dtype=np.float32),
    )
    answer = slates.item[slates.indptr[:-1] + rng.integers(0, 10, data.n_users)]
    shuffled = replace(data, item=answer, slates=slates)
    report = replace(chosen("retriever=given"), dataset=Loaded(shuffled)).run().report
    assert report is not None
    # 600 tasks, 10 candidates: 4 standard deviations are 0.049.
    assert report.means["end_to_end/top_1_accuracy"] == pytest.approx(0.1, abs=0.049)
    assert report.means["end_to_end/users"] > 550


def scores_of(dataset: ToolSelection) -> dict[tuple[str, str], float]:
    """Return task and tool -> score of every recommendation."""
    found = replace(chosen(), dataset=dataset).run()
    lists, data = found.recommendations, found.interactions
    pairs = zip(data.users.ids[lists.user[lists.list_of_row]], data.items.ids[lists.item], strict=True)
    return dict(zip(pairs, lists.score.tolist(), strict=True))


def test_the_order_of_the_files_changes_nothing(tmp_path: Path) -> None:
    pool, made = make_tools(400, 20, 0)
    turned = dict(reversed(pool.items()))
    kept = [task(trace, node, text, tool) for trace, node, text, tool in made]
    first = scores_of(written(tmp_path, *kept, pool=pool))
    assert scores_of(written(tmp_path, *reversed(kept), pool=turned)) == pytest.approx(first, abs=1e-3)


@pytest.mark.slow
def test_real_requests_find_their_tool(
    shared_data: Callable[[str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    means = judged(f"dataset.path={shared_data('metatool')}")
    assert means["end_to_end/top_1_accuracy"] > 0.81
    assert means["end_to_end/mrr_at_10"] > 0.87
    assert means["end_to_end/users"] == 3092
