from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

from recx.core.errors import InputError
from recx.core.types import Interactions
from recx.parts.dataset import svmlight_files
from recx.parts.dataset.svmlight import Svmlight
from recx.parts.dataset.svmlight_files import read_rows
from recx.storage.cache.keys import key_of_part
from recx.testing import check_dataset

LETOR = (
    "2 qid:10 1:0.5 2:1 #docid = GX1 inc = 1 prob = 0.1\n"
    "0 qid:10 1:0.25 3:7 #docid = GX0 inc = 1 prob = 0.2\n"
    "1 qid:11 1:0.125 #docid = GX1 inc = 1\n"
)


def load(folder: Path, **files: str) -> Interactions:
    """Load files, named by keyword (train_txt is train.txt), from a folder; a single one from itself."""
    for name, text in files.items():
        (folder / name.replace("_", ".")).write_text(text)
    [first, *more] = files
    return Svmlight(str(folder if more else folder / first.replace("_", "."))).load()


def offered(made: Interactions) -> dict[object, dict[object, list[float]]]:
    """Query -> document -> its features."""
    assert made.slates is not None
    found: dict[object, dict[object, list[float]]] = {}
    for row, number in enumerate(made.slates.list_of_row):
        query = made.users.ids[made.slates.user[number]]
        features = [float(column[row]) for column in made.slates.columns.values()]
        found.setdefault(query, {})[made.items.shown[made.slates.item[row]]] = features
    return found


def graded(made: Interactions) -> dict[tuple[object, object], float]:
    pairs = zip(made.user, made.item, made.weight, strict=True)
    return {(made.users.ids[user], made.items.shown[item]): float(grade) for user, item, grade in pairs}


def test_a_file_of_letor(tmp_path: Path) -> None:
    made = load(tmp_path, train_txt=LETOR)
    assert offered(made) == {10: {"GX0": [0.25, 0, 7], "GX1": [0.5, 1, 0]}, 11: {"GX1": [0.125, 0, 0]}}
    assert graded(made) == {(10, "GX1"): 2, (11, "GX1"): 1}
    assert list(made.slates.columns) == ["1", "2", "3"]  # type: ignore[union-attr]
    assert made.time is None
    assert "part" not in made.users.table
    assert made.notes["queries_with_one_document"] == 1
    check_dataset(Svmlight(str(tmp_path / "train.txt")))


def test_parts_of_a_folder_and_features_of_one_part_only(tmp_path: Path) -> None:
    made = load(tmp_path, train_txt="1 qid:1 1:5\n", vali_txt="1 qid:2 2:5\n", test_txt="1 qid:3 3:5\n")
    assert made.users.table["part"].tolist() == ["train", "valid", "test"]
    assert made.users.ids.tolist() == [1, 2, 3]
    assert list(offered(made)[2].values()) == [[0, 5, 0]]
    assert set(offered(made)[2]) == {"vali.txt line 1"}


def test_files_of_any_names_are_parts(tmp_path: Path) -> None:
    for name, text in {"a": "1 qid:1 1:5\n", "b": "1 qid:2 2:5\n", "c": "1 qid:3 3:5\n"}.items():
        (tmp_path / name).write_text(text)
    a, b, c = (str(tmp_path / name) for name in "abc")
    made = Svmlight(a, valid=b, test=c).load()
    assert made.users.table["part"].tolist() == ["train", "valid", "test"]
    assert set(offered(made)[3]) == {"c line 1"}
    assert Svmlight(a, test=c).load().users.table["part"].tolist() == ["train", "test"]
    assert key_of_part(Svmlight(a, test=c)) != key_of_part(Svmlight(a, test=b))
    with pytest.raises(InputError, match=r"dataset.valid names a file, and dataset.test none"):
        Svmlight(a, valid=b).load()
    with pytest.raises(InputError, match=r"dataset.test names a file, and dataset.path none"):
        Svmlight(test=c).load()
    with pytest.raises(InputError, match=r"dataset.test names a file, and dataset.path=.* is a folder"):
        Svmlight(str(tmp_path), test=c).load()


def test_a_number_in_two_files_means_two_queries(tmp_path: Path) -> None:
    made = load(tmp_path, train_txt="1 qid:1 1:5\n", test_txt="1 qid:1 1:6\n1 qid:2 1:6\n")
    assert made.users.ids.tolist() == ["train 1", "test 1", "test 2"]
    assert made.notes["query_numbers_in_several_files"] == 1


def test_group_files_of_lightgbm(tmp_path: Path) -> None:
    for part in ("train", "test"):
        (tmp_path / f"rank.{part}.gz").write_bytes(gzip.compress(b"2 10:0.5\n0 3:1\n1 3:2\n"))
        (tmp_path / f"rank.{part}.query.gz").write_bytes(gzip.compress(b"2\n1\n"))
    made = Svmlight(str(tmp_path)).load()
    assert made.users.ids.tolist() == ["train 1", "train 2", "test 1", "test 2"]
    assert [list(lists.values()) for lists in offered(made).values()][1] == [[2, 0]]
    assert list(made.slates.columns) == ["3", "10"]  # type: ignore[union-attr]


def test_rows_of_a_query_need_not_be_contiguous(tmp_path: Path) -> None:
    made = load(tmp_path, x_txt="1 qid:1 1:1\n1 qid:2 1:2\n0 qid:1 1:3\n")
    assert sorted(offered(made)[1].values()) == [[1], [3]]
    assert made.notes["queries_not_contiguous"] == 1


def test_a_document_twice_in_a_query_counts_once_with_its_highest_grade(tmp_path: Path) -> None:
    made = load(tmp_path, x_txt="0 qid:1 1:1 #docid = A\n2 qid:1 1:2 #docid = A\n-1 qid:1 1:3 #docid = B\n")
    assert offered(made) == {1: {"A": [2], "B": [3]}}
    assert graded(made) == {(1, "A"): 2}
    assert made.notes["documents_twice_in_a_query"] == 1
    assert made.notes["negative_grades"] == 1


def test_uninformative_queries_are_counted(tmp_path: Path) -> None:
    made = load(tmp_path, x_txt="0 qid:1 1:1\n0 qid:1 1:2\n1 qid:2 1:1\n1 qid:2 1:2\n1 qid:3 1:1\n")
    assert made.notes["queries"] == 3
    assert made.notes["queries_without_relevant"] == 1
    assert made.notes["queries_all_relevant"] == 1
    assert made.notes["queries_with_one_document"] == 1


def test_a_test_part_without_an_answer_is_to_be_predicted(tmp_path: Path) -> None:
    made = load(tmp_path, train_txt="1 qid:1 1:5\n", test_txt="0 qid:2 1:6\n0 qid:3 1:6\n")
    assert made.to_predict is not None
    assert made.users.ids[made.to_predict].tolist() == [2, 3]


def test_numbers_of_documents_do_not_reveal_the_order_of_the_file(tmp_path: Path) -> None:
    made = load(tmp_path, x_txt="".join(f"1 qid:1 1:{row}\n" for row in range(200)))
    assert made.slates is not None
    assert abs(np.corrcoef(made.slates.item, made.slates.columns["1"])[0, 1]) < 0.2
    assert sorted(made.items.ids.tolist()) == list(range(200))


@given(
    st.lists(
        st.lists(
            st.tuples(st.integers(0, 2), st.lists(st.floats(-1e6, 1e6, width=32), min_size=4, max_size=4)), min_size=1
        ),
        min_size=1,
        max_size=6,
    ),
    st.sampled_from([40, 100, 1 << 24]),
)
def test_any_file_is_read_as_scikit_learn_reads_it(
    tmp_path_factory: pytest.TempPathFactory, groups: list[list[tuple[int, list[float]]]], block: int
) -> None:
    file = tmp_path_factory.mktemp("rows") / "rows.txt"
    table = np.array([row for group in groups for _, row in group])
    grade = np.array([label for group in groups for label, _ in group])
    query = np.repeat(np.arange(len(groups)), [len(group) for group in groups])
    dump_svmlight_file(table, grade, str(file), zero_based=False, query_id=query)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(svmlight_files, "BLOCK", block)
        rows = read_rows(file)
    known, labels, queries = load_svmlight_file(str(file), query_id=True, n_features=4)
    dense = np.zeros((len(grade), 4))
    dense[rows.row, rows.index - 1] = rows.value
    assert np.array_equal(dense, known.toarray())
    assert np.array_equal(rows.grade, labels)
    assert np.array_equal(rows.query, queries)
    assert np.array_equal(rows.line, np.arange(len(grade)) + 1 + (file.read_text().count("\n") - len(grade)))


def test_blank_lines_comments_and_other_line_ends(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"\xef\xbb\xbf# made by hand\r\n\r\n1 qid:1 1:5 # good\r\n0 qid:1")
    rows = read_rows(tmp_path / "a.txt")
    assert rows.grade.tolist() == [1, 0]
    assert rows.line.tolist() == [3, 4]
    assert rows.value.tolist() == [5]


BAD = {
    "1 qid:1 1:0.5\n2 qid:1 1:x\n": "line 2: 'x' is not a number",
    "1 qid:1 1:0.5\n2 qid:1 1:\n": "line 2: it is not a row",
    "1 qid:1 1:0.5\nqid:1 2\n1 qid:1 7\n": "line 2: qid:QUERY must follow",
    "1 qid:1 1:0.5\n2 1:0.5\n": "line 2: qid:QUERY must follow",
    "1 qid:1 1:0.5\n2 qid:1.5 1:0.5\n": "line 2: the qid is not a whole number",
    "1 qid:1 1:0.5\n2 qid:nan 1:0.5\n": "line 2: the qid is not a whole number",
    "1 qid:1 1:0.5\n2 qid:1 -1:0.5\n": "line 2: the features' numbers must be whole and rise",
    "1 qid:1 1:0.5\n2 qid:a 1:0.5\n": "line 2: 'a' is not a number",
    "1 qid:1 1:0.5\nnan qid:1 1:0.5\n": "line 2: the grade is not finite",
    "1 qid:1 1:0.5\n1 qid:7 1:1 2:nan\n": "line 2: feature 2 of query 7 is nan",
    "1 qid:1 1:0.5\n1 qid:7 1:inf\n": "line 2: feature 1 of query 7 is inf",
    "1 qid:1 1:0.5\n1 qid:7 1:1e39\n": r"line 2: feature 1 of query 7 is 1e\+39",
    "1 qid:1 2:0.5 1:1\n": "line 1: the features' numbers must be whole and rise",
    "1 qid:1 1:0.5 1:1\n": "line 1: the features' numbers must be whole and rise",
    "1 qid:1 0.5:1\n": "line 1: the features' numbers must be whole and rise",
    "1 1:0.5\n": "does not say which rows belong to one query",
    "0 qid:1 1:1\n-1 qid:1 1:2\n": "no document has a grade above 0",
    "# nothing\n": "has comments but no rows",
    "\n": "is empty",
}


@pytest.mark.parametrize("text", BAD, ids=BAD.values())
def test_a_bad_line_is_reported_in_one_sentence(tmp_path: Path, text: str) -> None:
    with pytest.raises(InputError, match=BAD[text]) as error:
        load(tmp_path, x_txt=text)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("sizes", "said"),
    [
        ("2\n2\n", "add up to 4 rows and x has 3"),
        ("3\n0\n", "entry 2: '0' is not a number of rows"),
        ("x\n", "'x' is not a"),
    ],
)
def test_a_bad_group_file_is_reported_in_one_sentence(tmp_path: Path, sizes: str, said: str) -> None:
    (tmp_path / "x").write_text("1 1:1\n" * 3)
    (tmp_path / "x.query").write_text(sizes)
    with pytest.raises(InputError, match=said):
        Svmlight(str(tmp_path / "x")).load()


def test_a_folder_needs_its_parts_once(tmp_path: Path) -> None:
    (tmp_path / "train.txt").write_text(LETOR)
    with pytest.raises(InputError, match=r"has no file test\.txt"):
        Svmlight(str(tmp_path)).load()
    (tmp_path / "rank.train").write_text(LETOR)
    with pytest.raises(InputError, match="two files of the part train"):
        Svmlight(str(tmp_path)).load()


def test_too_many_features_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(svmlight_files, "MOST_FEATURES", 2)
    with pytest.raises(InputError, match="have 3 features, but at most 2"):
        load(tmp_path, x_txt=LETOR)


@pytest.mark.parametrize("setting", [{"queries": 9}, {"features": 0}])
def test_sizes_out_of_range_are_refused(setting: dict[str, int]) -> None:
    with pytest.raises(InputError, match=f"dataset.{next(iter(setting))}="):
        Svmlight(**setting)  # type: ignore[arg-type]


def test_the_generated_collection_looks_like_mq2008() -> None:
    made, again, other = (Svmlight(queries=100, seed=seed).load() for seed in (0, 0, 1))
    assert made.slates is not None
    assert again.slates is not None
    assert other.slates is not None
    assert np.array_equal(made.slates.columns["7"], again.slates.columns["7"])
    assert len(made.slates) != len(other.slates) or not np.array_equal(made.slates.item, other.slates.item)
    table = np.stack(list(made.slates.columns.values()))
    assert (table.min(), table.max()) == (0, 1)
    assert set(made.weight) == {1, 2}
    assert 0.1 < len(made) / len(made.slates) < 0.35  # MQ2008 has 0.19
    check_dataset(Svmlight(queries=20))


def test_mq2008_as_it_is(shared_data: Callable[[str], Path]) -> None:
    made = Svmlight(str(shared_data("mq2008/S1.txt.gz"))).load()
    assert made.slates is not None
    assert (made.slates.n_lists, len(made.slates), len(made.slates.columns)) == (157, 2933, 46)
    assert made.notes["queries_not_contiguous"] == made.notes["documents_twice_in_a_query"] == 0


def test_lightgbms_example_as_it_is(shared_data: Callable[[str], Path]) -> None:
    made = Svmlight(str(shared_data("lightgbm-lambdarank"))).load()
    assert made.slates is not None
    assert (made.slates.n_lists, len(made.slates)) == (251, 3773)
    assert made.users.table["part"].tolist() == ["train"] * 201 + ["test"] * 50
    assert set(made.weight) == {1, 2, 3, 4}
