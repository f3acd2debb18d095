"""Files as other libraries, spreadsheets and databases write them: read as they are meant, or refused with a reason."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import recx
from recx.core.errors import InputError
from recx.core.types import Interactions
from recx.parts.dataset.sequences import Sequences
from recx.parts.dataset.table import Table

SECONDS = ["1500000300", "1500000100", "1500000200", "1500000400"]
DAYS = ["2018-09-20", "2018-09-22", "2018-09-21", "2018-09-23"]
PAIRS = [(1, 7), (1, 3), (1, 5), (2, 5)]


def log(path: Path, column: str, values: list[str], mark: str = ",") -> Path:
    rows = [f"{u}{mark}{i}{mark}{value}" for (u, i), value in zip(PAIRS, values, strict=True)]
    path.write_text("\n".join([f"user{mark}item{mark}{column}", *rows]) + "\n")
    return path


def read(path: Path, **settings: Any) -> list[tuple[Any, Any]]:
    events = Table(str(path), **settings).load()
    return list(zip(events.users.ids[events.user].tolist(), events.items.ids[events.item].tolist(), strict=True))


@pytest.mark.parametrize(
    ("column", "values"),
    [
        ("t_dat", DAYS),  # H&M
        ("date_added", DAYS),
        ("when", DAYS),
        ("Zeit", DAYS),
        ("created_utc", SECONDS),  # Reddit
        ("timestamp_ms", [f"{value}000" for value in SECONDS]),
        ("time_stamp", SECONDS),
        ("Timestamp (UTC)", SECONDS),
        ("epoch", SECONDS),
        ("session_start", [f"{value}.25" for value in SECONDS]),
        ("day", ["20170701", "20170703", "20170702", "20170704"]),
        ("InvoiceDate", ["12/1/2010 8:26", "12/1/2010 8:28", "12/1/2010 8:27", "12/1/2010 8:29"]),  # Online Retail
        ("bought_on", ["01.12.2010", "03.12.2010", "02.12.2010", "04.12.2010"]),
    ],
)
def test_times_under_any_name_are_not_passed_over(tmp_path: Path, column: str, values: list[str]) -> None:
    path = log(tmp_path / "log.csv", column, values)
    with pytest.raises(InputError, match=r"could hold the times: set dataset.time .* or dataset.time=null"):
        read(path)
    assert read(path, time=None) == PAIRS


def test_days_are_not_taken_for_the_times_where_a_finer_column_lies_beside_them(tmp_path: Path) -> None:
    text = "user,item,date,time_ms,made\n1,7,20220421,1650470400000,2020-01-01\n1,3,20220421,1650470300000,2020-01-01\n"
    (tmp_path / "log.csv").write_text(text)  # KuaiRand
    with pytest.raises(InputError, match="the column 'date' or 'time_ms' could hold the times"):
        read(tmp_path / "log.csv")
    (tmp_path / "log.csv").write_text(
        text.replace("date,time_ms", "timestamp,shown_ms").replace("20220421", "1650470400")
    )
    assert len(read(tmp_path / "log.csv")) == 2


def test_times_in_a_parquet_file_are_seen_by_their_type(tmp_path: Path) -> None:
    frame = pd.DataFrame(PAIRS, columns=["user", "item"]).assign(started=pd.to_datetime(DAYS))
    frame.to_parquet(tmp_path / "log.parquet")
    with pytest.raises(InputError, match="the column 'started' could hold the times"):
        read(tmp_path / "log.parquet")


@pytest.mark.parametrize(
    ("column", "values"),
    [
        ("price", ["1500.5", "1200", "99.95", "3"]),
        ("session_id", SECONDS),
        ("time_on_page", ["3", "5", "4", "8"]),
        ("year", ["2001", "2003", "2002", "2004"]),
        ("title", ["2001 A Space Odyssey", "1984", "Up", "12 Monkeys"]),
    ],
)
def test_what_is_no_time_is_left_unread(tmp_path: Path, column: str, values: list[str]) -> None:
    assert read(log(tmp_path / "log.csv", column, values)) == PAIRS


def test_times_are_found_beyond_texts_that_are_cut(tmp_path: Path) -> None:
    text = '"' + "a line\n" * 50_000 + '"'
    path = tmp_path / "log.csv"
    path.write_text(f"user,item,text,begun\n1,7,{text},2018-09-20\n1,3,b,2018-09-22\n")
    with pytest.raises(InputError, match="the column 'begun' could hold the times"):
        read(path)


REACTIONS = ["feedback", "target", "reward", "vote", "converted", "isbuy", "play_count", "Quantity", "watch_ratio", "y"]


@pytest.mark.parametrize("column", REACTIONS)
def test_a_reaction_of_0_is_no_event_in_silence(tmp_path: Path, column: str) -> None:
    path = log(tmp_path / "log.csv", column, ["1", "0", "1", "1"])
    with pytest.raises(InputError, match=f"'{column}' is 0 in row 2, .* set dataset.weight={column}, .*=null"):
        read(path)
    assert read(path, weight=column) == [(1, 7), (1, 5), (2, 5)]
    assert read(path, weight=None) == PAIRS
    positive = Table(str(log(path, column, ["1", "2", "1", "1"]))).load()
    assert (len(positive), positive.notes["rows_with_unread_weight"]) == (4, 4)


@pytest.mark.parametrize(
    ("chosen", "shown"),
    [
        ("Y", "N"),
        ("click", "skip"),
        ("pos", "neg"),
        ("1", ""),
        ("1", "NA"),
        ("wahr", "falsch"),
        ("50%", "0%"),
        ("True", "False"),
        ("ja", "nein"),
    ],
)
def test_a_label_in_words_is_refused_by_any_delimiter(tmp_path: Path, chosen: str, shown: str) -> None:
    for mark in ";\t":
        path = log(tmp_path / "log.csv", "label", [chosen, shown, chosen, chosen], mark)
        with pytest.raises(InputError, match=r"the column 'label' holds .* could mean that an item was shown"):
            read(path)
        assert read(path, weight=None) == PAIRS


def test_impressions_among_events_are_not_taken_for_clicks(tmp_path: Path) -> None:
    path = log(tmp_path / "log.csv", "event_type", ["impression", "click", "impression", "click"])
    with pytest.raises(InputError, match="'event_type' holds 'impression', which could mean that an item was shown"):
        read(path)
    assert read(path, weight=None) == PAIRS
    for kinds in (["view", "addtocart", "view", "transaction"], ["pv", "buy", "cart", "fav"]):  # Retailrocket, Taobao
        assert read(log(path, "event_type", kinds)) == PAIRS


def test_a_torn_row_is_named_before_any_advice_on_its_columns(tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text("user,item,time\n1,1,2,1112486027\n2,1,29,1112484676\n")
    with pytest.raises(InputError, match=r"row 1: 4 columns instead of 3: correct or remove the row, or name all"):
        read(tmp_path / "log.csv")


@pytest.mark.parametrize("mark", [",", " ", "\t", ";"])  # write.csv, write.table, write.csv2
@pytest.mark.parametrize("n", [1, 2, 30])
def test_the_row_names_of_R_are_no_column(tmp_path: Path, mark: str, n: int) -> None:
    rows = [f'"{row + 1}"{mark}"u{row // 3}"{mark}{row}{mark}{1_112_486_027 + 61 * row * row}' for row in range(n)]
    (tmp_path / "log.txt").write_text("\n".join([mark.join(['"user"', '"item"', '"time"']), *rows]) + "\n")
    assert read(tmp_path / "log.txt") == [(f"u{row // 3}", row) for row in range(n)]


@pytest.mark.parametrize("mark", [";", "\t"])
def test_numbers_with_a_decimal_comma_are_read(tmp_path: Path, mark: str) -> None:
    path = log(tmp_path / "log.csv", "rating", ["3,5", "4", "0,5", "12,25"], mark)
    events = Table(str(path), weight="rating").load()
    assert events.weight.tolist() == [3.5, 4, 0.5, 12.25]
    read_label = Table(str(log(path, "label", ["1,0", "0,0", "1,0", "1,0"], mark))).load()
    assert (len(read_label), read_label.notes["rows_of_weight_0"]) == (3, 1)
    with pytest.raises(InputError, match=r"row 2: .1,500. could be 1500 or 1\.500: write it without the comma"):
        Table(str(log(path, "rating", ["3", "1,500", "2,250", "4"], mark)), weight="rating").load()
    lists, truth = tmp_path / "lists.csv", tmp_path / "truth.csv"
    lists.write_text(mark.join(["user", "item", "score"]) + f"\n1{mark}7{mark}0,25\n1{mark}3{mark}0,5\n")
    truth.write_text(mark.join(["user", "item", "grade"]) + f"\n1{mark}7{mark}1,5\n")
    assert recx.evaluate(lists, truth, ["mrr"]).means["mrr"] == 0.5


@pytest.mark.parametrize("word", ["NA", "\\N", "#N/A", "#REF!", "(null)", "userId", "Total"])
def test_a_word_among_whole_numbers_is_no_user(tmp_path: Path, word: str) -> None:
    path = tmp_path / "log.csv"
    path.write_text(f"user,item\n1,7\n{word},3\n1,5\n")
    with pytest.raises(InputError, match=r"column 'user', row 2: .* among whole numbers"):
        read(path)
    path.write_text(f"user,item\nanna,7\n{word},3\nben,5\n")
    assert [user for user, _ in read(path)] == ["anna", word, "ben"]


def test_a_list_is_no_id(tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text('user,item\n1,"[1, 2]"\n2,[3]\n')
    with pytest.raises(InputError, match=r"column 'item', row 1: '\[1, 2\]' is a list: write one row for each item"):
        read(tmp_path / "log.csv")


def test_ids_that_differ_by_a_blank_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text("user,item\na, x\nb,x\n")
    with pytest.raises(InputError, match="column 'item', row 1: ' x' differs from another id only in blanks"):
        read(path)
    path.write_text("user, item\na, x\nb, y\n")
    assert len(read(path)) == 2


def test_a_frame_with_ids_of_two_kinds_is_refused() -> None:
    with pytest.raises(InputError, match="column 'user': the ids are numbers beside texts"):
        Interactions.from_frame(pd.DataFrame({"user": [1, "1", 2], "item": [3, 1, 2]}))


def test_whole_numbers_that_pandas_made_floats_are_ids() -> None:
    events = Interactions.from_frame(pd.DataFrame({"user": [1.0, 1.0, 2.0], "item": [3, 1, 2]}))
    assert events.users.ids.tolist() == [1, 2]
    assert events.users.ids.dtype == np.int64


@pytest.mark.parametrize(
    "users", [[1.0, 1.5, 2.0], [1.0, 2.0**53, 2.0], [1.0, np.inf, 2.0], np.array([1, 2**24 + 2, 3], np.float32)]
)
def test_decimal_numbers_are_no_ids_of_a_frame(users: Any) -> None:
    with pytest.raises(InputError, match=r"column 'user': the id (\d+\.\d|inf) is a decimal number, or has lost"):
        Interactions.from_frame(pd.DataFrame({"user": users, "item": [3, 1, 2]}))


LISTS = {"user": [1, 1, 2, 2], "item": [10, 12, 20, 21], "score": [0.1, 0.9, 0.8, 0.6]}
TRUTH = pd.DataFrame({"user": [1, 2], "item": [10, 20]})


@pytest.mark.parametrize("column", ["Rank", "RANK", "position", "ranking", "rank:float"])
@pytest.mark.parametrize("door", ["frame", "file"])
def test_ranks_under_another_name_do_not_contradict_scores_in_silence(tmp_path: Path, column: str, door: str) -> None:
    lists: Any = pd.DataFrame({**LISTS, column: [1, 2, 1, 2]})
    if door == "file":
        lists.to_csv(tmp_path / "lists.csv", index=False)
        TRUTH.to_csv(tmp_path / "truth.csv", index=False)
    lists, truth = (lists, TRUTH) if door == "frame" else (tmp_path / "lists.csv", tmp_path / "truth.csv")
    with pytest.raises(InputError, match=f"the columns {column} and score contradict each other"):
        recx.evaluate(lists, truth, ["mrr"])
    assert recx.evaluate(lists, truth, ["mrr"], order="score").means["mrr"] == 0.75  # 1/2 and 1


def test_where_the_retriever_had_an_item_is_no_rank_of_its_list(tmp_path: Path) -> None:
    lists = pd.DataFrame({**LISTS, "retriever_rank": [1, 2, 1, 2], "retriever_score": [0.9, 0.8, 0.9, 0.8]})
    lists.to_parquet(tmp_path / "recommendations.parquet")
    for given in (lists, tmp_path / "recommendations.parquet"):
        assert recx.evaluate(given, TRUTH, ["mrr"]).means["mrr"] == 0.75


@pytest.mark.parametrize("column", REACTIONS)
def test_grades_under_the_name_of_a_reaction_are_not_passed_over(column: str) -> None:
    lists = pd.DataFrame(LISTS)
    with pytest.raises(InputError, match=f"no column grade but a column {column}: rename it"):
        recx.evaluate(lists, TRUTH.assign(**{column: [5, 0]}), ["mrr"])
    assert recx.evaluate(lists, TRUTH.assign(**{column: 1}), ["mrr"]).means["mrr"] == 0.75
    with pytest.raises(InputError, match=f"history: the column {column} is 0 in row 1"):
        recx.evaluate(lists, TRUTH, ["mrr"], history=TRUTH.assign(**{column: [0, 1]}))


def test_ids_in_two_forms_of_unicode_would_meet() -> None:
    lists = pd.DataFrame({"user": [1, 1], "item": ["caf\u00e9", "\uff11"], "score": [2.0, 1.0]})
    with pytest.raises(InputError, match="the item ids of recommendations and relevance are spelled differently"):
        recx.evaluate(lists, pd.DataFrame({"user": [1, 1], "item": ["cafe\u0301", "1"]}), ["mrr"])


FULL = "".join(f"{user} 7 {user} 8 4 6\n" for user in range(3, 11))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("1 [5, 3, 9]\n2 [5, 1]\n", "ids alone"),
        ('{"1": [5,3,9]}\n', "ids alone"),
        ("1 5, 3, 9\n2 5, 1\n", "ids alone"),
        ('"1" "5" "3"\n"2" "5" "1"\n', "ids alone"),
        ("# user items\n1 5 3 9\n2 5 1\n", "a comment"),
        ("1 5:3 3:4 9:1\n2 5:1 1:5\n", "a number stands behind every item, such as '5:3'"),
        ("1 0 0 5 3 9\n2 0 0 0 5 1\n" + FULL, "the item 0 stands at the beginning of 2 lines only"),
        ("1 5 3 9 4 -1\n2 5 1 3 -1 -1\n" + FULL, "the item -1 stands at the end of 2 lines only"),
    ],
)
def test_sequences_in_another_notation_are_refused(tmp_path: Path, text: str, reason: str) -> None:
    (tmp_path / "log.txt").write_text(text)
    with pytest.raises(InputError, match=reason):
        Sequences(str(tmp_path / "log.txt")).load()


@pytest.mark.parametrize(
    "text",
    ["1 0 5 0 0\n2 5 1 0\n", "1 0 5 3\n2 0 1 9\n", "u's it's don't(3)\nv b-2 c:x\n", "1 5:3 x\n2 a:1 b\n", "a 1,5 2\n"],
)
def test_sequences_with_odd_ids_are_read(tmp_path: Path, text: str) -> None:
    (tmp_path / "log.txt").write_text(text)
    events = Sequences(str(tmp_path / "log.txt")).load()
    assert len(events) == sum(len(line.split()) - 1 for line in text.splitlines())


def test_a_column_of_booleans_in_parquet_is_no_label_in_silence(tmp_path: Path) -> None:
    pq.write_table(
        pa.table({"user": [1, 1, 2], "item": [7, 3, 5], "viewed": [True, False, True]}), tmp_path / "a.parquet"
    )
    with pytest.raises(InputError, match="the column 'viewed' holds 'false' and 'true'"):
        read(tmp_path / "a.parquet")


@pytest.mark.parametrize(
    ("user", "item", "end"),
    [
        ("user_id", "item_id", ""),
        ("userId", "movieId", ""),
        ("reviewerID", "asin", ""),
        ("user_id", "item_id", ":float"),
    ],
)
def test_lists_and_truth_name_users_and_items_in_their_own_words(
    tmp_path: Path, user: str, item: str, end: str
) -> None:
    types = ":token" if end else ""
    lists, truth = tmp_path / "lists.tsv", tmp_path / "truth.tsv"
    lists.write_text(f"{user}{types}\t{item}{types}\tscore{end}\n1\t10\t0.1\n1\t12\t0.9\n2\t20\t0.8\n")
    truth.write_text(f"timestamp{end}\t{user}{types}\t{item}{types}\n5\t1\t10\n5\t2\t20\n")
    assert recx.evaluate(lists, truth, ["mrr"]).means["mrr"] == 0.75
    truth.write_text(f"{user}{types}\t{item}{types}\trating{end}\n1\t10\t1\n2\t20\t5\n")
    with pytest.raises(InputError, match=f"there is no column grade but a column rating{end}: rename it"):
        recx.evaluate(lists, truth, ["mrr"])


def test_two_columns_that_could_be_the_user_are_not_chosen_from(tmp_path: Path) -> None:
    (tmp_path / "lists.csv").write_text("session_id,user_id,item_id,score\n7,1,10,0.1\n")
    TRUTH.to_csv(tmp_path / "truth.csv", index=False)
    with pytest.raises(InputError, match="column 'user' is missing"):
        recx.evaluate(tmp_path / "lists.csv", tmp_path / "truth.csv", ["mrr"])


def test_ids_of_a_frame_that_differ_in_blanks_are_refused() -> None:
    with pytest.raises(InputError, match=r"column 'user': the id ' a' differs from another id only in blanks"):
        Interactions.from_frame(pd.DataFrame({"user": ["a", "b", " a"], "item": [3, 1, 2]}))
    with pytest.raises(InputError, match=r"column 'item': the id 'x\\t' differs"):
        Interactions.from_frame(pd.DataFrame({"user": [1, 1, 2], "item": ["x\t", "y", "x"]}))
    events = Interactions.from_frame(pd.DataFrame({"user": [1, 1, 2], "item": [" x", "new york", "y "]}))
    assert events.items.ids.tolist() == [" x", "new york", "y "]
