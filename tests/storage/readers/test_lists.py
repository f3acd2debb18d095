"""Lists and truth from files: what they hold comes out the same whatever the format, and ids agree in type."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

import pandas as pd
import pytest

import recx
from recx.core.errors import InputError
from recx.storage.readers.lists import read

LISTS = pd.DataFrame({"user": ["u1", "u1", "u2"], "item": ["a", "b", "a"], "score": [0.9, 0.8, 0.3]})
TRUTH = pd.DataFrame({"user": ["u1", "u2"], "item": ["b", "a"], "grade": [1.0, 2.0]})
RUN = "u1 Q0 a 1 0.9 tag\nu1\tQ0  b 2 0.8 tag\n\nu2 Q0 a 1 0.3 tag\n"
QRELS = "u1 0 b 1\nu2 0 a 2\n"


def written(folder: Path, ending: str) -> tuple[Path, Path]:
    lists, truth = folder / f"run.{ending}", folder / f"truth.{ending}"
    if ending == "parquet":
        LISTS.to_parquet(lists)
        TRUTH.to_parquet(truth)
    elif ending.startswith(("csv", "tsv")):
        for table, path in ((LISTS, lists), (TRUTH, truth)):
            table.to_csv(path, index=False, sep="\t" if ending.startswith("tsv") else ",")
    else:
        for text, path in ((RUN, lists), (QRELS, truth)):
            path.write_bytes(gzip.compress(text.encode()) if ending.endswith("gz") else text.encode())
    return lists, truth


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "tsv", "parquet", "txt", "trec.gz", "run"])
def test_every_format_gives_the_same_tables(tmp_path: Path, ending: str) -> None:
    lists, truth = written(tmp_path, ending)
    for table, path, name in ((LISTS, lists, "recommendations"), (TRUTH, truth, "relevance")):
        found = read(path, name)
        pd.testing.assert_frame_equal(found[table.columns], table, check_dtype=False)
    means = recx.evaluate(str(lists), truth, ["mrr", "ndcg_at_1"]).means
    assert means == pytest.approx({"mrr": 0.75, "ndcg_at_1": 0.5})


@pytest.mark.parametrize(
    ("run", "qrels"),
    [
        pytest.param('u Q0 "a 1 0.9 x\nu Q0 b" 2 0.8 x\n', 'u 0 b" 1\n', id="quotation marks in ids"),
        pytest.param("u Q0 a,b 1 0.9 x\nu Q0 c|d;e 2 0.8 x\n", "u 0 c|d;e 1\n", id="other marks in ids"),
        pytest.param("u Q0 NA 1 0.9 x\nu Q0 null 2 0.8 x\n", "u 0 null 1\n", id="ids that look like missing ones"),
        pytest.param("u Q0 #a 1 0.9 x\r\nu Q0 b 2 0.8 x\r\n", "u 0 b 1\r\n", id="ends of lines of Windows"),
        pytest.param("\nu Q0 a 1 0.9 my best run\nu Q0 b 2 0.8 x\n", "u 0 b 1", id="a tag of several words"),
        pytest.param("u Q0 a 1 9 x\nu Q0 b 1 8 another tag\n", "u\t0\tb\t1\n", id="tabs, and ranks that lie"),
        pytest.param("u Q0 007 1 0.9 x\nu Q0 7 2 0.8 x\n", "u 0 7 1\n", id="leading zeros"),
    ],
)
def test_trec_files_are_split_at_blanks_alone(tmp_path: Path, run: str, qrels: str) -> None:
    (tmp_path / "run.txt").write_bytes(run.encode())
    (tmp_path / "qrels.txt").write_bytes(qrels.encode())
    assert recx.evaluate(tmp_path / "run.txt", tmp_path / "qrels.txt", ["mrr"]).means == {"mrr": 0.5}


@pytest.mark.parametrize(
    ("qrels", "said"),
    [
        ("u 0 a 1\nu 0 b c 1\n", "is not a TREC file of 4 columns"),
        ("u 0 a 1\nu 0 b high\n", "row 2: the grade 'high' is not a number"),
        ("u 0 a 1\nu 0 b\n", "row 2: the grade '' is not a number"),
        ("u 0 a 1\nu 0 b nan\n", "the grade of user 'u' in row 2 is nan"),
        ("u a\n", "column 'user' is missing"),
        ("u a 1 2\n", "seems to have no header .u, a, 1, 2.: put one first that names user, item, grade"),
    ],
)
def test_qrels_with_other_columns_are_rejected(tmp_path: Path, qrels: str, said: str) -> None:
    (tmp_path / "run.txt").write_text("u Q0 a 1 0.9 x\n")
    (tmp_path / "qrels.txt").write_text(qrels)
    with pytest.raises(InputError, match=said) as caught:
        recx.evaluate(tmp_path / "run.txt", tmp_path / "qrels.txt", ["mrr"])
    assert "\n" not in str(caught.value)


def test_a_category_may_be_missing(tmp_path: Path) -> None:
    (tmp_path / "items.csv").write_text("item,category\n1,news\n2,\n3,sport\n")
    assert read(tmp_path / "items.csv", "items")["category"].isna().tolist() == [False, True, False]
    (tmp_path / "items.csv").write_text("item,category\n1,4\n2,\n3,4\n")
    assert read(tmp_path / "items.csv", "items")["category"].isna().tolist() == [False, True, False]


def test_formats_can_be_mixed_and_text_on_one_side_makes_all_ids_text(tmp_path: Path) -> None:
    (tmp_path / "run.txt").write_text("1 Q0 7 1 0.9 x\n2 Q0 8 1 0.9 x\n")
    (tmp_path / "truth.csv").write_text("user,item\n1,7\n2,b8\n")
    assert recx.evaluate(tmp_path / "run.txt", tmp_path / "truth.csv", ["hit_at_1"]).means == {"hit_at_1": 0.5}
    (tmp_path / "truth.csv").write_text("user,item\n1,7\nx,8\n")
    assert recx.evaluate(tmp_path / "run.txt", tmp_path / "truth.csv", ["hit_at_1"]).means == {"hit_at_1": 0.5}


def test_parquet_knows_its_types_so_text_against_whole_numbers_is_an_error(tmp_path: Path) -> None:
    pd.DataFrame({"user": [1], "item": [7], "score": [1.0]}).to_parquet(tmp_path / "run.parquet")
    pd.DataFrame({"user": [1], "item": ["07"]}).to_parquet(tmp_path / "truth.parquet")
    with pytest.raises(InputError, match="the item ids differ in type"):
        recx.evaluate(tmp_path / "run.parquet", tmp_path / "truth.parquet", ["hit_at_1"])


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("run.txt", "1 Q0 a 1 0.9 x\n1 Q0 b 2 high x\n", "row 2: the score 'high' is not a number"),
        ("run.csv", "user,item,scor\n1,a,0.5\n", "there is no column score or rank"),
        ("run.csv", "user,itm,score\n1,a,0.5\n", "column 'item' is missing; did you mean 'itm'"),
        ("run.csv", "user,item,score\n1,a,0.5\n1,b\n", "row 2: 2 columns instead of 3"),
        ("run.csv", "user,item,score\n1,a,0.5\n2,b,\n", "the score of user '2' in row 2 is nan"),
        (
            "run.csv",
            "user,item,score\n1,a,0.5\n2,b,inf\n",
            "the score of user '2' in row 2 is inf",
        ),
        ("run.csv", "user,item,score\n1,a,x\n", "row 1: 'x' is not a number"),
        ("run.csv", "", "is empty"),
        ("run.csv", "user,item,score\n", "has a header but no rows"),
        ("run.csv", "user,item,score\n,a,0.5\n", "column 'user', row 1.*missing"),
    ],
)
def test_what_is_wrong_with_a_file_is_said_in_one_sentence(tmp_path: Path, name: str, content: str, said: str) -> None:
    (tmp_path / name).write_text(content)
    TRUTH.to_csv(tmp_path / "truth.csv", index=False)
    with pytest.raises(InputError, match=said) as caught:
        recx.evaluate(tmp_path / name, tmp_path / "truth.csv", ["hit_at_1"])
    assert "\n" not in str(caught.value)


def test_whole_scores_above_2_to_the_53_stay_apart(tmp_path: Path) -> None:
    large = [2**60 + 1, 2**60 + 2]
    (tmp_path / "run.csv").write_text(f"user,item,score\n1,1,{large[0]}\n1,2,{large[1]}\n")
    assert read(tmp_path / "run.csv", "recommendations")["score"].tolist() == large
    (tmp_path / "run.csv").write_text("user,item,score\n1,1,1e300\n1,2,0.5\n")
    assert read(tmp_path / "run.csv", "recommendations")["score"].tolist() == [1e300, 0.5]


@pytest.mark.parametrize("large", [f"{2**53 + 1}.0", f"{2**53}.5", f"-{2**53 + 1}."])
def test_a_large_score_with_a_point_that_decimal_numbers_cannot_hold_is_refused(tmp_path: Path, large: str) -> None:
    (tmp_path / "run.csv").write_text(f"user,item,score\n1,1,{large}\n1,2,0.5\n")
    with pytest.raises(InputError, match=f"the number {re.escape(large)}, which decimal numbers cannot tell from its"):
        read(tmp_path / "run.csv", "recommendations")
    (tmp_path / "run.csv").write_text(f"user,item,score\n1,1,{2**53 + 2}.0\n1,2,1500000000000000.1\n")
    assert read(tmp_path / "run.csv", "recommendations")["score"].tolist() == [2**53 + 2, 1500000000000000.1]


@pytest.mark.parametrize("other", ["0.5", "1" + 20 * "0"])
def test_a_whole_score_that_decimal_numbers_cannot_hold_is_refused_beside_such(tmp_path: Path, other: str) -> None:
    (tmp_path / "run.csv").write_text(f"user,item,score\n1,1,{2**53 + 1}\n1,2,{other}\n")
    with pytest.raises(InputError, match=f"the number {2**53 + 1}, which decimal numbers cannot tell from its"):
        read(tmp_path / "run.csv", "recommendations")
    (tmp_path / "run.csv").write_text(f"user,item,score\n1,1,{2**53}\n1,2,{other}\n")
    assert read(tmp_path / "run.csv", "recommendations")["score"].tolist() == [2**53, float(other)]


def test_lists_with_blanks_between_their_columns_are_read(tmp_path: Path) -> None:
    (tmp_path / "run.txt").write_text("score item user\n0.5 a 1\n0.7 b 1\n")
    assert read(tmp_path / "run.txt", "recommendations")["item"].tolist() == ["a", "b"]


def test_a_missing_file_names_the_closest_match(tmp_path: Path) -> None:
    written(tmp_path, "csv")
    with pytest.raises(InputError, match=r"no such file; did you mean 'run.csv'"):
        read(tmp_path / "run.cvs", "recommendations")
