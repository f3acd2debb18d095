"""Files without a header: TREC's and MS MARCO's are recognised by what their columns hold, all others are refused."""

from __future__ import annotations

import re
import tempfile
from collections import Counter
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import recx
from recx.core.errors import InputError
from recx.storage.readers.lists import read

RUN = "1 Q0 a 1 0.9 x\n1 Q0 c 2 0.8 x\n2 Q0 b 1 0.9 x\n"
QRELS = {
    "TREC": "1 0 c 1\n2 0 b 2\n",
    "TREC, tabs": "1\tQ0\tc\t1\n2\tQ0\tb\t2\n",
    "BEIR": "query-id\tcorpus-id\tscore\n1\tc\t1\n2\tb\t2\n",
    "BEIR, no header": "1\tc\t1\n2\tb\t2\n",
    "BEIR, no header, CRLF, BOM": "\ufeff1\tc\t1\r\n2\tb\t2\r\n",
    "BEIR as CSV": "query-id,corpus-id,score\n1,c,1\n2,b,2\n",
    "four columns with a header": "query_id\titeration\tdoc_id\trelevance\n1\t0\tc\t1\n2\t0\tb\t2\n",
    "blanks": "1 c 1\n2  b 2\n",
    "pyterrier": "qid,docno,label\n1,c,1\n2,b,2\n",
    "ours": "user,item,grade\n1,c,1\n2,b,2\n",
}
PAIRS = {"MS MARCO": "1\tc\n2\tb\n", "with a header": "qid\tpid\n1\tc\n2\tb\n"}


@pytest.mark.parametrize("form", [*QRELS, *PAIRS])
def test_judgements_of_every_form_are_the_same(tmp_path: Path, form: str) -> None:
    (tmp_path / "run.trec").write_text(RUN)
    (tmp_path / "qrels.tsv").write_text((QRELS | PAIRS)[form], newline="")
    found = read(tmp_path / "qrels.tsv", "relevance")
    assert found["user"].astype(str).tolist() == ["1", "2"]
    assert found["item"].tolist() == ["c", "b"]
    assert form in PAIRS or found["grade"].tolist() == [1, 2]
    assert recx.evaluate(tmp_path / "run.trec", tmp_path / "qrels.tsv", ["mrr"]).means == {"mrr": 0.75}


@pytest.mark.parametrize(
    "text",
    [
        RUN,
        RUN.replace(" ", "\t").replace("\n", "\r\n"),
        RUN.replace(" Q0 ", " 0 "),
        RUN.replace(" x\n", "\n"),
        "1\ta\t1\n1\tc\t2\n2\tb\t1\n",
        "1\ta\t0.9\n1\tc\t0.8\n2\tb\t0.9\n",
        "1\tc\t0.8\n1\ta\t0.9\n2\tb\t0.9\n",
        "1\ta\t90\n1\tc\t70\n2\tb\t80\n",
        "query_id\tdoc_id\tscore\n1\ta\t9\n1\tc\t8\n2\tb\t9\n",
        "qid,docno,rank\n1,c,2\n1,a,1\n2,b,1\n",
    ],
)
def test_lists_of_every_form_are_the_same(tmp_path: Path, text: str) -> None:
    (tmp_path / "run.txt").write_text(text, newline="")
    (tmp_path / "qrels.txt").write_text(QRELS["TREC"])
    assert recx.evaluate(tmp_path / "run.txt", tmp_path / "qrels.txt", ["mrr"]).means == {"mrr": 0.75}


@pytest.mark.parametrize(
    ("table", "text", "said"),
    [
        ("relevance", "1\t50\t5\t881250949\n1\t172\t4\t881250950\n", "seems to have no header .1, 50, 5, 881250949."),
        ("relevance", "1 0 5 881250949\n2 0 4 881250950\n", "the second column is 0 in every row.*881250949 in row 1"),
        ("relevance", "1 0 5 0.5\n2 0 4 1\n", "the grade 0.5 in row 1 is not such as TREC's are"),
        ("relevance", "1 0 5 1\n2 7 4 1\n", "the second column is '0' in row 1.*'7' in row 2, as in a table"),
        ("relevance", "1\t0\t5\n1\t0\t7\n", "could be query, document and a number, or query, 0 and document"),
        ("relevance", "1\ta\t1\n1\tb\t2\n2\ta\t1\n", "its third column could be grades or ranks .1, 2, 1."),
        ("relevance", "1\ta\t0.5\n1\tb\t0.25\n", "its third column could be grades or scores, ranks or times"),
        ("relevance", "1\ta\t881250949\n", "its third column could be grades or scores, ranks or times"),
        ("relevance", "1,a,1\n2,b,1\n", "seems to have no header"),
        ("relevance", "who\twhat\n1\t2\n", "column 'user' is missing"),
        ("recommendations", "1\t10\t4\t3.9\t1\n1\t11\t5\t3.2\t2\n", "seems to have no header .1, 10, 4, 3.9."),
        ("recommendations", "1 0 4 3.9 1\n1 0 5 3.2 2\n", "the rank 3.9 in row 1 is not such as TREC's are"),
        ("recommendations", "1 0 4 1 0.1\n1 0 5 2 0.2\n", "the rank 2 in row 2 is not such as TREC's are"),
        ("recommendations", "1 Q0 4 1 0.9\n1 8 5 2 0.2\n", "'Q0' in row 1.*'8' in row 2"),
        ("recommendations", "1\ta\t3\n1\tb\t5\n", "its third column could be scores or ranks"),
        ("recommendations", "1\ta\t3\n1\tb\t2\n1\tc\t1\n", "its third column could be scores or ranks"),
        ("recommendations", "1\ta\n1\tb\n", "column 'user' is missing|seems to have no header"),
        ("recommendations", '{"user": 1}\n', "column 'item' is missing; choose one of: user"),
    ],
)
def test_what_could_mean_two_things_is_refused(tmp_path: Path, table: str, text: str, said: str) -> None:
    (tmp_path / "t.txt").write_text(text)
    with pytest.raises(InputError, match=said) as error:
        read(tmp_path / "t.txt", table)
    assert "\n" not in str(error.value)


WORD = st.text("abq019-_", min_size=1, max_size=4).filter(lambda word: word != "-")  # which would be a missing value


def test_qrels_with_and_without_header_agree_with_a_plain_loop() -> None:
    counts: Counter[str] = Counter()

    @given(
        rows=st.lists(st.tuples(WORD, WORD, st.integers(-2, 4)), min_size=1, max_size=10),
        form=st.sampled_from(["q\t0\td\tg", "q Q0 d g", "q\td\tg", "q d g", "header"]),
        end=st.sampled_from(["\n", "\r\n"]),
    )
    def check(rows: list[tuple[str, str, int]], form: str, end: str) -> None:
        lines = {
            "q\t0\td\tg": [f"{q}\t0\t{d}\t{g}" for q, d, g in rows],
            "q Q0 d g": [f"{q} Q0 {d} {g}" for q, d, g in rows],
            "q\td\tg": [f"{q}\t{d}\t{g}" for q, d, g in rows],
            "q d g": [f"{q} {d} {g}" for q, d, g in rows],
            "header": ["query-id\tcorpus-id\tscore", *(f"{q}\t{d}\t{g}" for q, d, g in rows)],
        }[form]
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "qrels.tsv"
            path.write_text(end.join(lines) + end, newline="")
            counts[form] += 1
            found = frame_or_refusal(path)
        if isinstance(found, str):
            assert "could be" in found
            counts["refused"] += 1
            return
        wanted = [(q, d, float(g)) for q, d, g in rows]
        assert list(zip(found["user"].astype(str), found["item"].astype(str), found["grade"], strict=True)) == wanted

    check()
    assert counts["refused"] <= 0.1 * counts.total()


def frame_or_refusal(path: Path) -> pd.DataFrame | str:
    try:
        return read(path, "relevance")
    except InputError as error:
        return str(error)


@pytest.mark.parametrize("large", [f"{2**53 + 1}", f"{2**53 + 1}.0", f"{2**53}.5"])
@pytest.mark.parametrize(("name", "line"), [("run.trec", "u Q0 {} 0 {} x\n"), ("run.tsv", "u\t{}\t{}\n")])
def test_a_score_with_more_digits_than_float64_holds_is_refused_beside_others(
    tmp_path: Path, name: str, line: str, large: str
) -> None:
    (tmp_path / name).write_text(line.format("a", large) + line.format("b", "0.5"))
    with pytest.raises(InputError, match=f"{re.escape(large)} has more digits than float64 holds.*18 digits"):
        read(tmp_path / name, "recommendations")
    (tmp_path / name).write_text(line.format("a", f"{2**53 + 2}.0") + line.format("b", "0.5"))
    assert read(tmp_path / name, "recommendations")["score"].tolist() == [2**53 + 2, 0.5]
