"""Kind 3 of issue 15 in lists and judgements: columns by another name, ranks against scores, joined files."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

import recx
from recx.core.errors import InputError
from recx.core.types import Interactions
from recx.parts.dataset.judged import Judged
from recx.parts.dataset.table import Table

LISTS = pd.DataFrame({"user": [1, 1, 2], "item": [10, 11, 20], "score": [3.0, 2.0, 1.0]})
GRADED = {"mrr": 1.0, "ndcg_at_10": pytest.approx((1 + 5 / 1.5849625) / (5 + 1 / 1.5849625))}  # log2(3) = 1.5849625


GRADES = ["grade", "Grade", "GRADE", "grades", "relevance", "Relevance", "rel", "label", "Label", "gain"]


def truth(name: str, grades: tuple[object, ...] = (1, 5, 0)) -> pd.DataFrame:
    return pd.DataFrame({"user": [1, 1, 2], "item": [10, 11, 20], name: grades})


def both_doors(frame: pd.DataFrame, path: Path) -> list[pd.DataFrame | Path]:
    frame.to_csv(path, index=False)
    return [frame, path]


@pytest.mark.parametrize(
    "name",
    [*GRADES, "relevance_grade", "trueLabel", "clicked", "is_click", "judgment", "Judgement", "relevance:float"],
)
def test_a_column_that_says_that_it_holds_grades_is_read(tmp_path: Path, name: str) -> None:
    for given in both_doors(truth(name), tmp_path / "truth.csv"):
        found = recx.evaluate(LISTS, given, ["mrr", "ndcg_at_10"])
        assert found.means == GRADED
        assert found.users.tolist() == [1]  # user 2 has only grade 0


@pytest.mark.parametrize("name", ["weight", "Weight", "score", "Score", "rating", "Rating", "user_rating", "stars"])
def test_a_column_that_may_hold_grades_is_refused_unless_it_says_nothing(tmp_path: Path, name: str) -> None:
    for given in both_doors(truth(name), tmp_path / "truth.csv"):
        with pytest.raises(InputError, match=f"no column grade but a column {name}: rename it to grade, or drop it so"):
            recx.evaluate(LISTS, given, ["mrr"])
    for given in both_doors(truth(name, (1, 1, 1)), tmp_path / "ones.csv"):
        assert recx.evaluate(LISTS, given, ["mrr"]).means == {"mrr": (1 + 1) / 2}


def test_columns_beside_a_grade_and_columns_of_texts_are_left_alone(tmp_path: Path) -> None:
    frame = truth("grade").assign(rating=[9, 9, 9], item_label=["x", "y", "z"], time=[5, 6, 7])
    for given in both_doors(frame, tmp_path / "truth.csv"):
        assert recx.evaluate(LISTS, given, ["mrr", "ndcg_at_10"]).means == GRADED
    named = truth("item_label", ("x", "y", "z"))
    for given in both_doors(named, tmp_path / "named.csv"):
        assert len(recx.evaluate(LISTS, given, ["mrr"]).users) == 2


@pytest.mark.parametrize("name", ["label", "is_click"])
def test_true_and_false_are_grades(tmp_path: Path, name: str) -> None:
    for given in both_doors(truth(name, (True, True, False)), tmp_path / "truth.csv"):
        found = recx.evaluate(LISTS, given, ["mrr"])
        assert (found.means, found.users.tolist()) == ({"mrr": 1.0}, [1])


def test_two_columns_of_grades_are_refused(tmp_path: Path) -> None:
    for given in both_doors(truth("relevance").assign(label=[1, 1, 1]), tmp_path / "truth.csv"):
        with pytest.raises(InputError, match="the grades could be in the column 'relevance' or 'label': call one of"):
            recx.evaluate(LISTS, given, ["mrr"])


def test_judgements_of_queries_and_documents_keep_their_grades_too(tmp_path: Path) -> None:
    (tmp_path / "run.csv").write_text("query-id,corpus-id,score\n1,a,9\n1,b,8\n")
    (tmp_path / "qrels.csv").write_text("query-id,corpus-id,Grade\n1,a,0\n1,b,2\n")
    assert recx.evaluate(tmp_path / "run.csv", tmp_path / "qrels.csv", ["mrr"]).means == {"mrr": 0.5}
    folder = tmp_path / "judged"
    folder.mkdir()
    (folder / "queries.csv").write_text("query,text\n1,a\n")
    (folder / "documents.csv").write_text("document,text\n5,x\n6,y\n7,z\n")
    for name in ("Grade", "relevance_grade", "Gain"):
        (folder / "grades.csv").write_text(f"query,document,{name}\n1,5,0\n1,6,2\n")
        assert Judged(str(folder)).load().weight.tolist() == [2]
    for name in ("Rating", "weight"):
        (folder / "grades.csv").write_text(f"query,document,{name}\n1,5,0\n1,6,2\n")
        with pytest.raises(InputError, match=f"grades.csv: there is no column grade but a column {name}: rename it"):
            Judged(str(folder)).load()
    (folder / "grades.csv").write_text("query,document,weight\n1,5,1\n1,6,1\n")
    assert Judged(str(folder)).load().weight.tolist() == [1, 1]


def test_what_was_only_shown_is_no_history(tmp_path: Path) -> None:
    shown = pd.DataFrame({"user": [1, 1], "item": [10, 30], "label": [1, 0]})
    for given in both_doors(shown, tmp_path / "history.csv"):
        with pytest.raises(InputError, match="history: the column label is 0 in row 2, as for items that were shown"):
            recx.evaluate(LISTS, truth("grade"), ["novelty_at_10"], history=given)
    for given in both_doors(shown.assign(label=[1, 5]), tmp_path / "history.csv"):
        assert recx.evaluate(LISTS, truth("grade"), ["novelty_at_10"], history=given).rules["history_events"] == 2


DISTANCES = pd.DataFrame(
    {"user": [1, 1, 1, 2, 2, 2], "item": list("abcabc"), "rank": [1, 2, 3] * 2, "score": [0.1, 0.5, 0.9, 0.2, 0.3, 0.7]}
)
WANTED = pd.DataFrame({"user": [1, 2], "item": ["a", "b"]})


def of_trec(frame: pd.DataFrame, path: Path) -> Path:
    rows = zip(frame["user"], frame["item"], frame["rank"], frame["score"], strict=True)
    path.write_text("".join(f"{user} Q0 {item} {rank} {score} run\n" for user, item, rank, score in rows))
    return path


def test_ranks_and_scores_that_contradict_each_other_are_refused_and_a_setting_decides(tmp_path: Path) -> None:
    wanted = tmp_path / "truth.csv"
    WANTED.to_csv(wanted, index=False)
    doors = [*both_doors(DISTANCES, tmp_path / "recs.csv"), of_trec(DISTANCES, tmp_path / "run.trec")]
    for given in doors:
        with pytest.raises(InputError, match=r"user '?1'?, the item 'a' has rank 1 and score 0.1 and the item 'b' h"):
            recx.evaluate(given, wanted if isinstance(given, Path) else WANTED, ["mrr"])
        for order, mrr in {"rank": (1 + 1 / 2) / 2, "score": (1 / 3 + 1 / 2) / 2}.items():
            found = recx.evaluate(given, wanted if isinstance(given, Path) else WANTED, ["mrr"], order=order)  # type: ignore[arg-type]
            assert found.means == {"mrr": pytest.approx(mrr)}


def test_ranks_order_equal_scores(tmp_path: Path) -> None:
    ties = DISTANCES.assign(item=list("cbabac"), rank=[3, 2, 1, 2, 1, 3], score=1)
    for given in both_doors(ties, tmp_path / "recs.csv"):
        wanted = WANTED if isinstance(given, pd.DataFrame) else both_doors(WANTED, tmp_path / "truth.csv")[1]
        assert recx.evaluate(given, wanted, ["mrr"]).means == {"mrr": (1 + 1 / 2) / 2}


@pytest.mark.parametrize("ranks", [[1, 2, 3], [0, 1, 2], [0, 0, 0], [1, 1, 2], [10, 20, 30]])
def test_ranks_that_agree_with_the_scores_are_read_in_any_order_of_rows(ranks: list[int]) -> None:
    lists = DISTANCES.assign(rank=ranks * 2, score=[0.9, 0.5, 0.1, 7, 3, 2])
    for seed in range(5):
        assert recx.evaluate(lists.sample(frac=1, random_state=seed), WANTED, ["mrr"]).means == {"mrr": 0.75}


@pytest.mark.parametrize("header", ["user,item,score", "USER,ITEM,SCORE", "User, Item ,Score", "\ufeffuser,item,score"])
def test_a_header_between_rows_is_no_row_in_any_letters(tmp_path: Path, header: str) -> None:
    (tmp_path / "recs.csv").write_text(f"user,item,score\n1,a,2\n{header}\n1,b,3\n", encoding="utf-8")
    (tmp_path / "truth.csv").write_text("user,item\n1,a\n")
    found = recx.evaluate(tmp_path / "recs.csv", tmp_path / "truth.csv", ["mrr"])
    assert found.means == {"mrr": 0.5}
    assert found.notes["repeated_headers"] == 1
    short = header.rpartition(",")[0]
    (tmp_path / "log.csv").write_text(f"user,item\nu,a\n{short}\nu,b\nv,a\n", encoding="utf-8")
    events = Table(str(tmp_path / "log.csv")).load()
    assert (len(events), events.n_users, events.notes["repeated_headers"]) == (3, 2, 1)


def test_a_header_between_rows_in_another_order_is_refused(tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text("user,item\nu,a\nItem,User\nb,u\n")
    with pytest.raises(InputError, match=r"log.csv, row 2 repeats the header in another order \(Item, User\)"):
        Table(str(tmp_path / "log.csv")).load()


def test_a_row_that_holds_only_some_names_is_a_row(tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text("user,item\nuser,a\nitem,item\nUser,b\n")
    events = Table(str(tmp_path / "log.csv")).load()
    assert (len(events), events.users.ids.tolist()) == (3, ["user", "item", "User"])


@pytest.mark.parametrize("names", [("user", "item"), ("User", "ITEM"), ("\ufeffuser", "item")])
def test_a_frame_that_repeats_its_names_is_refused(names: tuple[str, str]) -> None:
    frame = pd.DataFrame([("u", "a"), names, ("u", "b")], columns=["user", "item"])
    with pytest.raises(InputError, match="row 2: it repeats the names of the columns: drop the row"):
        Interactions.from_frame(frame)
    with pytest.raises(InputError, match="relevance, row 2: it repeats the names of the columns"):
        recx.evaluate(frame.iloc[:1].assign(score=1), frame, ["mrr"])
