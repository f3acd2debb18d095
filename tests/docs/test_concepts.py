"""The pages under docs/concepts say what is so: their worked examples come out, and what they name exists."""

from __future__ import annotations

import re
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from recx.config.compose import compose, plain
from recx.core.entities import Entities
from recx.core.ragged import indptr_of
from recx.core.types import Fold, Interactions, RankedLists, Requests
from recx.evaluation.evaluator import Evaluator
from recx.experiment import blocks, build
from recx.experiment.experiment import Result
from recx.experiment.protocol_card import card
from recx.parts.split.by_time import ByTime
from recx.parts.split.leave_last import LeaveLast

ROOT = Path(__file__).resolve().parents[2]
CONCEPTS = ROOT / "docs" / "concepts"
DAY = "2024-03-01 "
Row = dict[str, str]


def text(page: str) -> str:
    return (CONCEPTS / f"{page}.md").read_text(encoding="utf-8")


def table(page: str, name: str) -> list[Row]:
    """Return the rows of the table below the comment of this name: heading -> cell, without backticks and stars."""
    lines = text(page).partition(f"<!-- {name} -->\n")[2].partition("\n\n")[0].splitlines()
    heading, _, *rows = [[cell.strip(" `*") for cell in line[1:-1].split("|")] for line in lines]
    assert rows
    return [dict(zip(heading, row, strict=True)) for row in rows]


def listed(cell: str) -> list[str]:
    return [] if cell in ("", "–") else cell.split(", ")


# ---- folds and requests ----


@pytest.fixture(scope="module")
def log() -> Interactions:
    rows = [
        (row["user"], *event.split())
        for row in table("folds-and-requests", "log")
        for event in list(row.values())[1:]
        if event
    ]
    frame = pd.DataFrame(rows, columns=["user", "item", "time"])
    return Interactions.from_frame(frame.assign(time=pd.to_datetime(DAY + frame["time"])))


def shown(fold: Fold) -> list[list[str]]:
    """Return a row a user as the page has it: history, time of the request and targets."""
    assert fold.target is not None
    assert fold.requests.time is not None
    items, known = fold.history.items.ids, [fold.history, fold.target]
    times = pd.to_datetime(fold.requests.time, unit="ms").strftime("%H:%M")
    asked = dict(zip(fold.requests.user.tolist(), times, strict=True))
    rows = []
    for user in range(fold.history.n_users):
        history, target = (items[of.item[of.indptr[user] : of.indptr[user + 1]]].tolist() for of in known)
        rows.append([", ".join(history) or "–", asked.get(user, "–"), ", ".join(target) or "–"])
    return rows


def on_page(name: str) -> list[list[str]]:
    return [list(row.values())[1:] for row in table("folds-and-requests", name)]


def test_the_folds_of_the_log_are_those_of_the_page(log: Interactions) -> None:
    split = LeaveLast().split(log, "test")
    assert split.past is not None
    assert shown(split.fold) == on_page("fold")
    assert shown(split.past) == on_page("past")
    assert split.notes["users_left_out_too_few_events"] == 1
    by_time = ByTime(window="30m").split(log, "test")
    assert shown(by_time.fold) == on_page("by_time")
    assert by_time.notes["users_left_out_too_little_history"] == 1


def test_the_later_events_of_the_log_are_those_of_the_page(log: Interactions) -> None:
    notes = [splitter.split(log, "test").notes for splitter in (LeaveLast(), ByTime(window="30m"))]
    for name, row in zip(("later_events", "later_events_per_target"), table("leaks", "later"), strict=True):
        assert [float(row["leave_last"]), float(row["by_time"])] == [of[name] for of in notes], name


# ---- stages and funnel ----

USERS = [row["user"] for row in table("stages-and-funnel", "lists")]


def lists_of(column: str, items: list[str]) -> RankedLists:
    lists = [listed(row[column]) for row in table("stages-and-funnel", "lists")]
    flat = [items.index(item) for of in lists for item in of]
    indptr = indptr_of(np.array([len(of) for of in lists]))
    scores = [-float(place) for of in lists for place in range(len(of))]
    return RankedLists(np.arange(len(lists), dtype=np.int32), indptr, np.int32(flat), np.float32(scores))


@pytest.fixture(scope="module")
def values() -> dict[str, np.ndarray]:
    """Return the figures of the worked example: name -> a value per user."""
    rows = table("stages-and-funnel", "lists")
    items = sorted({item for row in rows for column in ("targets", "candidates") for item in listed(row[column])})
    known = {"users": Entities(np.array(USERS)), "items": Entities(np.array(items))}
    pairs = [(row["user"], item) for row in rows for item in listed(row["targets"])]
    target = Interactions.from_frame(pd.DataFrame(pairs, columns=["user", "item"]), order="given", **known)
    history = target.keep(np.zeros(len(target), dtype=bool))
    fold = Fold(history, target, Requests(np.arange(len(rows), dtype=np.int32)))
    stages = Evaluator(
        retrieval=["recall_at_3"],
        ranking=["recall_at_2", "hit_at_2", "ndcg_at_2"],
        end_to_end=["recall_at_2", "hit_at_2"],
        n_candidates=3,
    )
    report = stages.evaluate(lists_of("candidates", items), lists_of("recommendations", items), fold)
    return {**report.values, "ranking/users": np.array([report.scalars["ranking/users"]])}


def number(cell: str) -> float:
    return np.nan if cell == "–" else float(Fraction(cell))


@pytest.mark.parametrize("name", ["figures", "funnel"])
def test_the_figures_of_the_worked_example_come_out(name: str, values: dict[str, np.ndarray]) -> None:
    rows = table("stages-and-funnel", name)
    assert list(rows[0]) == ["figure", *USERS, "mean"]
    assert len(rows) == 5
    for row in rows:
        found = values[row["figure"]]
        assert [number(row[user]) for user in USERS] == pytest.approx(found, abs=5e-5, nan_ok=True), row["figure"]
        assert number(row["mean"]) == pytest.approx(np.nanmean(found), abs=5e-5), row["figure"]


def test_the_stages_multiply_and_add_up_as_the_page_says(values: dict[str, np.ndarray]) -> None:
    whole, lost, ranked = map(
        Fraction, re.findall(r"\d/\d", text("stages-and-funnel").split("ranking/hit_at_k\n")[1])[:3]
    )
    assert whole == (1 - lost) * ranked
    means = {name: np.nanmean(of) for name, of in values.items()}
    assert (means["end_to_end/hit_at_2"], means["funnel/lost_in_retrieval"]) == (whole, lost)
    assert means["ranking/hit_at_2"] == pytest.approx(float(ranked))
    assert means["ranking/users"] == 3
    total = "1/2 + 1/4 + 1/4"
    assert total in text("stages-and-funnel")
    parts = ("end_to_end/hit_at_2", "funnel/lost_in_retrieval", "funnel/lost_in_ranking_at_2")
    assert [means[name] for name in parts] == [float(Fraction(part)) for part in total.split(" + ")]


def code_of(page: str) -> str:
    [code] = re.findall(r"^```python\n(.*?)^```$", text(page), flags=re.DOTALL | re.MULTILINE)
    return code


def test_the_evaluation_from_python_gives_the_same_means() -> None:
    found: dict[str, object] = {}
    exec(code_of("stages-and-funnel"), found)
    assert f"# {found['ev'].means}".replace("'", '"') in code_of("stages-and-funnel")  # type: ignore[attr-defined]
    for column, written in (("recommendations", "shown"), ("targets", "wanted")):
        expected = {row["user"]: listed(row[column]) for row in table("stages-and-funnel", "lists")}
        assert {user: items.split() for user, items in found[written].items()} == expected  # type: ignore[attr-defined]


# ---- the other pages ----


@pytest.fixture(scope="module")
def result() -> Result:
    small = ("dataset.readers=60", "dataset.articles=50", "n_candidates=20", "tracker=console")
    return build.experiment(plain(compose(["+experiment=news", "retriever=item_knn", "ranker=identity", *small]))).run()


def test_the_ranker_of_the_page_puts_the_rarest_items_first(result: Result) -> None:
    found: dict[str, object] = {}
    exec(code_of("chain"), found)
    now = result.split.fold
    made = found["RarestFirst"]().rank(result.candidates, now.history, now.requests)  # type: ignore[operator]
    falls = np.diff(now.history.clicks[made.item]) < 0
    assert not falls[np.diff(made.list_of_row) == 0].any()
    assert falls.any()
    assert np.array_equal(made.indptr, result.candidates.indptr)


def test_every_field_of_the_card_has_its_row(result: Result) -> None:
    named = [name for row in table("protocol-card", "fields") for name in re.findall(r"\w+", row["field"])]
    assert sorted(named) == sorted(card(result, {"seed": 0}))
    source = "".join(
        (ROOT / "recx" / "experiment" / f"{name}.py").read_text(encoding="utf-8")
        for name in ("protocol_card", "card_facts")
    )
    others = re.search(r"More fields appear.*?\n\n", text("protocol-card"), flags=re.DOTALL)
    assert others is not None
    names = re.findall(r"`(\w+)`", others[0])
    assert len(names) == 4
    assert all(f'"{name}"' in source for name in names)


def test_every_law_has_its_tests_and_every_test_its_law() -> None:
    rows = table("laws", "laws")
    tests = (ROOT / "tests" / "laws" / "test_laws.py").read_text(encoding="utf-8")
    numbers = sorted({int(number) for number in re.findall(r"def test_law_(\d)", tests)})
    held = [int(row["number"]) for row in rows if "tests/laws/test_laws.py" in row["held by"]]
    assert held == numbers
    assert [int(row["number"]) for row in rows] == list(range(1, 8))
    named = re.findall(r"`(tests/[\w/.]+)`", text("laws"))
    assert len(named) > 10
    assert all((ROOT / name).exists() for name in named)


def test_a_block_has_as_many_requests_as_the_pages_say() -> None:
    for page in ("blocks", "glossary"):
        assert f"{blocks.REQUESTS:,}" in text(page), page


def test_the_glossary_is_in_alphabetical_order() -> None:
    words = re.findall(r"^- \*\*(.+?)\*\*: ", text("glossary"), flags=re.MULTILINE)
    assert len(words) > 40
    assert words == sorted(words)
    assert len(set(words)) == len(words)


def test_the_reading_order_has_every_page_once() -> None:
    order = re.findall(r"^\d+\. \[.+?\]\((.+?)\.md\)", text("index"), flags=re.MULTILINE)
    tree = text("index").partition(":maxdepth: 1\n\n")[2].partition("```")[0]
    assert order == re.findall(r"^.+ <(.+)>$", tree, flags=re.MULTILINE)
    assert sorted(order) == sorted(page.stem for page in CONCEPTS.glob("*.md") if page.stem != "index")
