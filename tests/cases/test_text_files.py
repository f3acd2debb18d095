"""Text files of people who do this job, through the doors: all rows are read, or one sentence says why not.

The inputs are those of public reports: quotation marks, quoted line ends, no header, judgements of other tools.
"""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

import recx
from recx.cli import main
from recx.core.errors import InputError
from recx.parts.dataset.judged import Judged
from recx.parts.dataset.table import Table


def write(folder: Path, **files: str) -> None:
    for name, text in files.items():
        stem, _, ending = name.rpartition("_")
        (folder / f"{stem}.{ending}").write_text(text, newline="")


RATINGS = "1\t50\t5\t881250949\n1\t172\t4\t881250950\n1\t133\t3\t881250951\n2\t50\t5\t888550871\n2\t13\t4\t888550872\n"
RECS = "user,item,score\n1,50,0.9\n1,7,0.8\n1,133,0.7\n2,13,0.9\n2,50,0.5\n"


def test_ratings_without_a_header_are_no_qrels(tmp_path: Path) -> None:
    write(tmp_path, u1_test=RATINGS, recs_csv=RECS, truth_tsv=f"user\titem\tgrade\ttime\n{RATINGS}")
    with pytest.raises(InputError, match=r"u1.test seems to have no header \(1, 50, 5, 881250949\): put one first"):
        recx.evaluate(tmp_path / "recs.csv", tmp_path / "u1.test", ["hit_at_3"])
    means = recx.evaluate(tmp_path / "recs.csv", tmp_path / "truth.tsv", ["hit_at_3", "recall_at_3"]).means
    assert means == pytest.approx({"hit_at_3": 1, "recall_at_3": (2 / 3 + 1) / 2})


def test_predictions_without_a_header_are_no_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = "1\t10\t4\t3.9\t1\n1\t11\t5\t3.2\t2\n2\t10\t3\t3.3\t1\n2\t12\t4\t2.1\t2\n"
    write(tmp_path, predictions_tsv=rows, truth_csv="user,item\n1,10\n2,12\n")
    monkeypatch.setattr(
        "sys.argv",
        ["recx", "evaluate", str(tmp_path / "predictions.tsv"), str(tmp_path / "truth.csv"), "--metrics", "mrr"],
    )
    assert main.main() == 2
    assert "seems to have no header (1, 10, 4, 3.9)" in capsys.readouterr().err
    write(tmp_path, predictions_tsv=f"user\titem\trating\tscore\trank\n{rows}")
    assert recx.evaluate(tmp_path / "predictions.tsv", tmp_path / "truth.csv", ["mrr"]).means == {"mrr": 0.75}


def test_ratings_without_a_header_are_no_grades_of_documents(tmp_path: Path) -> None:
    write(
        tmp_path, queries_csv="query,text\n1,a\n2,b\n", documents_csv="document,text\n50,x\n5,y\n", grades_tsv=RATINGS
    )
    with pytest.raises(
        InputError, match=r"grades.tsv: its first line is neither a header .* nor a line of TREC's format"
    ):
        Judged(str(tmp_path)).load()
    write(tmp_path, grades_tsv="1\t50\t2\n2\t5\t1\n2\t50\t0\n")
    assert Judged(str(tmp_path)).load().weight.tolist() == [2, 1]


LOG = (
    "user\titem\ttitle\ttime\nu1\ti1\tPlain\t1500000000\nu1\ti2\t{}Night\t1500000100\nu1\ti3\tOther\t1500000200\n"
    "u2\ti1\tPlain\t1500000300\nu2\ti4\tSong{}\t1500000400\nu2\ti2\tZ\t1500000500\n"
)


@pytest.mark.parametrize("marks", [('"', ""), ("", '"'), ('"', '" (live)'), ('12" ', ' 7"'), ('"a" ', '"'), ("", "")])
def test_a_stray_quotation_mark_in_a_log_loses_no_event(tmp_path: Path, marks: tuple[str, str]) -> None:
    write(tmp_path, log_tsv=LOG.format(*marks), log_csv=LOG.format(*marks).replace("\t", ","))
    for name in ("log.tsv", "log.csv"):
        events = Table(str(tmp_path / name), time="time", time_unit="s").load()
        rows = zip(events.users.ids[events.user], events.items.ids[events.item], events.time // 1_000, strict=True)
        assert sorted(rows) == [
            ("u1", "i1", 1_500_000_000),
            ("u1", "i2", 1_500_000_100),
            ("u1", "i3", 1_500_000_200),
            ("u2", "i1", 1_500_000_300),
            ("u2", "i2", 1_500_000_500),
            ("u2", "i4", 1_500_000_400),
        ]


def test_marks_that_pair_over_lines_are_refused_in_every_door(tmp_path: Path) -> None:
    recs = "user\titem\tname\tscore\n1\ta\t{0}x\t0.9\n1\tb\ty\t0.8\n2\tb\tz{0}\t0.9\n2\ta\tw\t0.1\n"
    write(tmp_path, log_tsv=LOG.format('"', '"'), recs_tsv=recs.format('"'), truth_csv="user,item\n1,b\n2,b\n")
    with pytest.raises(
        InputError, match=r"log.tsv, line 3: a quotation mark opens a field that ends on a later line, or"
    ):
        Table(str(tmp_path / "log.tsv"), time="time", time_unit="s").load()
    with pytest.raises(
        InputError, match=r"recs.tsv, line 2: a quotation mark opens a field that ends on a later line, or"
    ):
        recx.evaluate(tmp_path / "recs.tsv", tmp_path / "truth.csv", ["mrr"])
    write(tmp_path, recs_tsv=recs.format(""))
    assert recx.evaluate(tmp_path / "recs.tsv", tmp_path / "truth.csv", ["mrr"]).means == {"mrr": 0.75}


@pytest.mark.parametrize("n", [2_000, 30_000])
def test_reviews_of_several_lines_are_read_at_any_size(tmp_path: Path, n: int) -> None:
    with (tmp_path / "reviews.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["user", "item", "review", "time"])
        for i in range(n):
            text = 'nice one\nreally, "good"\nbuy it' if i % 3 == 0 else "ok"
            rows.writerow([i % 50, i % 97, text, 1_500_000_000 + i])
    assert len(Table(str(tmp_path / "reviews.csv"), time="time", time_unit="s").load()) == n


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("ratings.csv", "U0A,0001,5.0,1369699200\nU0B,0002,3.0,1355443200\n", "no header (U0A, 0001, 5.0, 1369699200)"),
        ("plays.tsv", "user_1\t2009-05-04T23:08:57Z\t\tArtist\t\tTrack\n", "no header (user_1, 2009-05-04T23:08:57Z"),
        ("checkins.txt", "0\t2010-10-19T23:55:27Z\t30.2\t-97.7\t22847\n", "no header (0, 2010-10-19T23:55:27Z"),
        ("clicks.dat", "1,2014-04-07T10:51:09.277Z,214536502,0\n", "no header (1, 2014-04-07T10:51:09.277Z"),
        (
            "reviews.json",
            '{"reviewerID": "U0", "asin": "00", "unixReviewTime": 1071100800}\n',
            "column 'user' is missing; choose one of: asin, reviewerID, unixReviewTime",
        ),
    ],
)
def test_what_a_table_lacks_is_said(tmp_path: Path, name: str, text: str, said: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(InputError) as error:
        Table(str(tmp_path / name)).load()
    assert said in str(error.value)


@pytest.mark.parametrize(
    "qrels", ["query-id\tcorpus-id\tscore\n1\ta\t1\n2\tb\t1\n", "1\ta\n2\tb\n", "1\ta\t1\n2\tb\t1\n"]
)
def test_judgements_of_beir_and_ms_marco_are_read(tmp_path: Path, qrels: str) -> None:
    write(tmp_path, results_trec="1 Q0 a 1 0.9 x\n2 Q0 b 1 0.9 x\n", qrels_tsv=qrels)
    assert recx.evaluate(tmp_path / "results.trec", tmp_path / "qrels.tsv", ["mrr"]).means == {"mrr": 1}


def test_headers_between_rows_are_counted_where_a_person_sees_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, recs_csv=RECS + RECS.replace("1,", "3,").replace("2,", "4,"), truth_csv="user,item\n1,50\n3,7\n")
    monkeypatch.setattr(
        "sys.argv", ["recx", "evaluate", str(tmp_path / "recs.csv"), str(tmp_path / "truth.csv"), "--metrics", "mrr"]
    )
    assert main.main() == 0
    shown = capsys.readouterr().out
    assert "0.7500" in shown
    assert "repeated_headers" in shown
