from __future__ import annotations

import json
from pathlib import Path

import pytest

from recx.core.errors import InputError
from recx.core.types import Interactions
from recx.parts.dataset.judged import Judged
from recx.parts.split.by_query import ByQuery
from recx.storage.cache.keys import key_of_part
from recx.testing import check_dataset

QUERIES = {"7": "red fox", "8": "猫 مرحبا 🐈"}
DOCUMENTS = {"a": "the red fox", "b": 'a "blue" fox', "c": "nothing"}
GRADES = [("7", "a", 2), ("7", "b", 1), ("7", "c", 0), ("8", "c", 1)]
SHOWN = {"7": {"a", "b", "c"}, "8": {"c"}}


def offered(made: Interactions) -> dict[str, set[str]]:
    assert made.slates is not None
    lists: dict[str, set[str]] = {}
    for number, item in zip(made.slates.list_of_row, made.slates.item, strict=True):
        lists.setdefault(made.users.ids[made.slates.user[number]], set()).add(made.items.ids[item])
    return lists


def graded(made: Interactions) -> dict[tuple[str, str], float]:
    pairs = zip(made.user, made.item, made.weight, strict=True)
    return {(made.users.ids[user], made.items.ids[item]): float(grade) for user, item, grade in pairs}


def csv_files(folder: Path) -> None:
    (folder / "queries.csv").write_text("query,text\n" + "".join(f'{q},"{t}"\n' for q, t in QUERIES.items()))
    doubled = {document: text.replace('"', '""') for document, text in DOCUMENTS.items()}
    (folder / "documents.csv").write_text("document,text\n" + "".join(f'{d},"{t}"\n' for d, t in doubled.items()))
    (folder / "grades.csv").write_text("query,document,grade\n" + "".join(f"{q},{d},{g}\n" for q, d, g in GRADES))


def beir_files(folder: Path) -> None:
    lines = [json.dumps({"_id": query, "text": text, "metadata": {}}) for query, text in QUERIES.items()]
    (folder / "queries.jsonl").write_text("\n".join(lines))
    lines = [json.dumps({"_id": document, "title": "", "text": text}) for document, text in DOCUMENTS.items()]
    (folder / "corpus.jsonl").write_text("\n".join(lines))
    (folder / "qrels.tsv").write_text(
        "query-id\tcorpus-id\tscore\n" + "".join(f"{q}\t{d}\t{g}\n" for q, d, g in GRADES)
    )


def marco_files(folder: Path) -> None:
    (folder / "queries.tsv").write_text("".join(f"{query}\t{text}\n" for query, text in QUERIES.items()))
    (folder / "collection.tsv").write_text("".join(f"{document}\t{text}\n" for document, text in DOCUMENTS.items()))
    (folder / "qrels.tsv").write_text("".join(f"{q}\t0\t{d}\t{g}\n" for q, d, g in GRADES))


def trec_files(folder: Path) -> None:
    topics = [f"<top>\n<num> Number: {q}\n<title> {t}\n<desc> words\n</top>\n" for q, t in QUERIES.items()]
    (folder / "topics.txt").write_text("".join(topics))
    documents = [f"<DOC>\n<DOCNO> {d} </DOCNO>\n<TEXT>\n{t}\n</TEXT>\n</DOC>\n" for d, t in DOCUMENTS.items()]
    (folder / "docs.trec").write_text("".join(documents))
    (folder / "qrels.txt").write_text("".join(f"{q} 0 {d} {g}\n" for q, d, g in GRADES))


@pytest.mark.parametrize("write", [csv_files, beir_files, marco_files, trec_files])
def test_all_formats_give_the_same_data(tmp_path: Path, write: object) -> None:
    write(tmp_path)  # type: ignore[operator]
    made = Judged(str(tmp_path)).load()
    assert dict(zip(made.users.ids, made.users.table["text"], strict=True)) == QUERIES
    assert dict(zip(made.items.ids, made.items.table["text"], strict=True)) == DOCUMENTS
    assert graded(made) == {(query, document): grade for query, document, grade in GRADES if grade}
    assert offered(made) == SHOWN
    assert made.slates is not None
    assert not made.slates.columns
    check_dataset(Judged(str(tmp_path)))


def test_files_of_train_dev_and_test_grades_give_the_queries_their_parts(tmp_path: Path) -> None:
    beir_files(tmp_path)
    (tmp_path / "qrels.tsv").unlink()
    (tmp_path / "qrels").mkdir()
    title = "query-id\tcorpus-id\tscore\n"
    (tmp_path / "qrels" / "test.tsv").write_text(f"{title}7\ta\t2\n7\tb\t1\n")
    everything = set(Judged(str(tmp_path)).load().users.ids.tolist())
    assert everything == {"7"}  # the test queries and no others
    (tmp_path / "qrels" / "dev.tsv").write_text(f"{title}8\tc\t1\n")
    key = key_of_part(Judged(str(tmp_path)))
    made = Judged(str(tmp_path)).load()
    assert dict(zip(made.users.ids, made.users.table["part"], strict=True)) == {"7": "test", "8": "valid"}
    assert made.notes["queries_without_grades"] == len(QUERIES) - 2
    assert graded(made) == {("7", "a"): 2, ("7", "b"): 1, ("8", "c"): 1}
    fold = ByQuery().split(made, "test").fold
    assert made.users.ids[fold.requests.user].tolist() == ["7"]
    (tmp_path / "qrels" / "dev.tsv").write_text(f"{title}8\tb\t1\n")
    assert key_of_part(Judged(str(tmp_path))) != key
    for name, text, said in (
        ("train.tsv", f"{title}7\tc\t1\n", r"qrels: the query '7' has grades in test and train: leave it in one"),
        ("all.tsv", f"{title}7\tc\t1\n", r"all.tsv: its name is none of train, valid \(dev\) and test"),
    ):
        (tmp_path / "qrels" / name).write_text(text)
        with pytest.raises(InputError, match=said):
            Judged(str(tmp_path)).load()
        (tmp_path / "qrels" / name).unlink()
    (tmp_path / "queries.jsonl").write_text(json.dumps({"_id": "7", "text": "fox", "part": "test"}))
    with pytest.raises(InputError, match=r"the queries have a column of parts, and the files of grades are parts too"):
        Judged(str(tmp_path)).load()


def test_names_of_qrels_say_the_parts_as_those_of_ms_marco(tmp_path: Path) -> None:
    files = {
        "collection.tsv": "a\tred fox\nb\tblue sky\nc\tgreen tea\n",
        "queries.train.tsv": "1\tfox\n2\tsky\n",
        "queries.dev.small.tsv": "3\ttea\n",
        "queries.eval.small.tsv": "4\tno grades\n",
        "qrels.train.tsv": "1\t0\ta\t1\n2\t0\tb\t1\n",
        "qrels.dev.small.tsv": "3\t0\tc\t1\n",
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    made = Judged(str(tmp_path)).load()
    assert dict(zip(made.users.ids.tolist(), made.users.table["part"].tolist(), strict=True)) == {
        "1": "train",
        "2": "train",
        "3": "valid",
    }
    assert made.notes["queries_without_grades"] == 1
    split = ByQuery().split(made, "valid")
    assert split.past is not None
    assert [made.users.ids[user] for user in split.fold.requests.user] == ["3"]
    assert [made.users.ids[user] for user in split.past.requests.user] == ["1", "2"]
    with pytest.raises(InputError, match=r"fold=test: the data has no part test: choose one of train, valid"):
        ByQuery().split(made, "test")
    assert "part" not in Judged(str(tmp_path), grades="qrels.train.tsv").load().users.table  # that is named has none
    (tmp_path / "qrels.dev.tsv").write_text("3\t0\tc\t1\n")
    with pytest.raises(InputError, match=r"has both qrels\.dev\.small\.tsv and qrels\.dev\.tsv: choose one"):
        Judged(str(tmp_path)).load()


def test_candidates_are_the_slates_and_an_unretrieved_answer_remains_an_answer(tmp_path: Path) -> None:
    csv_files(tmp_path)
    (tmp_path / "run.txt").write_text("7 Q0 c 1 3.5 tag\n7 Q0 a 2 1.5 tag\n8 Q0 a 1 0.5 tag\n8 Q0 z 2 0.1 tag\n")
    made = Judged(str(tmp_path)).load()
    assert offered(made) == {"7": {"a", "c"}, "8": {"a"}}
    assert graded(made) == {("7", "a"): 2, ("7", "b"): 1, ("8", "c"): 1}
    assert made.slates is not None
    assert made.slates.columns["search_score"].tolist() == [3.5, 1.5, 0.5]
    assert made.slates.score.tolist() == [3.5, 1.5, 0.5]
    assert made.notes["candidates_of_unknown_documents"] == 1


def test_what_cannot_be_used_is_counted(tmp_path: Path) -> None:
    csv_files(tmp_path)
    with (tmp_path / "grades.csv").open("a") as file:
        file.write("9,a,1\n7,z,1\n7,a,1\n")
    with (tmp_path / "documents.csv").open("a") as file:
        file.write("a,again\nd,\ne\n")
    made = Judged(str(tmp_path)).load()
    assert graded(made) == {("7", "a"): 2, ("7", "b"): 1, ("8", "c"): 1}
    found = {name: made.notes[name] for name in ("grades_of_unknown_queries", "grades_of_unknown_documents")}
    assert found == {"grades_of_unknown_queries": 1, "grades_of_unknown_documents": 1}
    assert (made.notes["documents_twice"], made.notes["documents_without_text"]) == (1, 2)
    assert made.notes["documents_twice_in_a_query"] == 1


def test_parts_titles_long_texts_and_files_by_name(tmp_path: Path) -> None:
    csv_files(tmp_path)
    (tmp_path / "mine.jsonl").write_text(json.dumps({"id": "a", "title": "Foxes", "text": "x" * 100_000}))
    (tmp_path / "queries.csv").write_text("qid,query,part\n7,red fox,test\n")
    made = Judged(str(tmp_path), documents="mine.jsonl").load()
    assert made.items.table["text"].tolist() == ["Foxes " + "x" * 100_000]
    assert made.users.table["part"].tolist() == ["test"]


BAD = {
    "queries.csv": {
        "": "is empty",
        "query,text\n": "has no rows",
        "query,text\n,x\n": "row 1: the query's id is missing",
        "query,text\n7,x,y\n": "row 1: 3 columns instead of 2",
        '"query",text\n7,"x': "no column for the query",
        "query,words\n7,x\n": "there is no column for the text",
        "one two three\n": "neither a header with the columns query, text",
    },
    "grades.csv": {
        "query,document,grade\n7,a,good\n": "row 1: the grade 'good' is not a number",
        "query,document,grade\n7,a,inf\n": "row 1: the grade 'inf' is not a number",
        "query,document,grade\n70,a,1\n": "no grade belongs to a query and a document of the other files",
        "7 0 a\n8 0 a x y z\n": "neither a header with the columns query, document",
    },
    "documents.csv": {"document,title\na,x\n": "id is missing|no column for the text"},
}


@pytest.mark.parametrize(("file", "text"), [(file, text) for file, texts in BAD.items() for text in texts])
def test_a_bad_file_is_reported_in_one_sentence(tmp_path: Path, file: str, text: str) -> None:
    csv_files(tmp_path)
    (tmp_path / file).write_text(text)
    with pytest.raises(InputError, match=BAD[file][text]) as error:
        Judged(str(tmp_path)).load()
    assert "\n" not in str(error.value)


def test_files_that_are_missing_or_too_many_are_reported(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"dataset\.path is not set"):
        Judged().load()
    with pytest.raises(InputError, match="no such folder"):
        Judged(str(tmp_path / "no")).load()
    with pytest.raises(InputError, match=r"has no file of queries, such as queries\.csv"):
        Judged(str(tmp_path)).load()
    csv_files(tmp_path)
    (tmp_path / "qrels.txt").write_text("7 0 a 1\n")
    with pytest.raises(InputError, match=r"has both grades\.csv and qrels\.txt"):
        Judged(str(tmp_path)).load()
    with pytest.raises(InputError, match="no such file"):
        Judged(str(tmp_path), grades="grade.csv").load()


def test_json_lines_must_be_objects(tmp_path: Path) -> None:
    csv_files(tmp_path)
    (tmp_path / "q.jsonl").write_text('{"id": "7", "text": null}\n[1]\n')
    with pytest.raises(InputError, match="line 2: it must be an object"):
        Judged(str(tmp_path), queries="q.jsonl").load()
    (tmp_path / "q.jsonl").write_text('{"id": 7, "text": null}\n')
    made = Judged(str(tmp_path), queries="q.jsonl").load()
    assert (made.users.ids.tolist(), made.users.table["text"].tolist()) == (["7"], [""])
    assert made.notes["queries_without_text"] == 1
