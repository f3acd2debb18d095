from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from recx.core.errors import InputError
from recx.core.types import Interactions
from recx.parts.dataset.mind import Mind
from recx.parts.split.by_time import ByTime
from recx.testing import check_dataset

BEHAVIORS = [
    "11\tU1\t11/12/2019 2:14:46 PM\tN1 N2 N1\tN3-0 N4-1 N5-1",
    "7\tU2\t11/11/2019 12:00:00 AM\t\tN3-1 N2-0",
    "9\tU1\t11/13/2019 12:00:01 PM\tN1\tN5-0 N5-0 N4-0",
]
NEWS = ["N1\tnews\tx\tTitle\tAbstract\turl\t[]\t[]", 'N4\tsports\ty\tA "quoted one\t\turl\t[]\t[]']
FIRST = np.datetime64("2019-11-11T00:00:00", "ms").astype(int)


def load(folder: Path, behaviors: list[str] = BEHAVIORS, news: list[str] = NEWS) -> Interactions:
    (folder / "behaviors.tsv").write_text("\n".join(behaviors) + "\n")
    (folder / "news.tsv.gz").write_bytes(gzip.compress(("\n".join(news) + "\n").encode()))
    return Mind(str(folder)).load()


def test_an_impression_has_its_history_its_clicks_and_its_slate(tmp_path: Path) -> None:
    made = load(tmp_path)
    assert made.users.ids.tolist() == ["11", "7", "9"]
    assert made.items.ids.tolist() == ["N1", "N2", "N3", "N4", "N5"]
    events = [made.items.ids[made.item[made.indptr[n] : made.indptr[n + 1]]].tolist() for n in range(3)]
    assert events == [["N1", "N2", "N1", "N4", "N5"], ["N3"], []]
    at = np.datetime64("2019-11-12T14:14:46", "ms").astype(int)
    assert made.time is not None
    assert made.time.tolist() == [FIRST - 1] * 3 + [at, at] + [FIRST]
    assert made.slates is not None
    assert made.slates.user.tolist() == [0, 1, 2]
    assert [made.items.ids[made.slates[n : n + 1].item].tolist() for n in range(3)] == [
        ["N3", "N4", "N5"],
        ["N2", "N3"],
        ["N4", "N5"],
    ]
    assert made.users.table["reader"].tolist() == [0, 1, 0]
    assert made.items.table["text"].tolist() == ["Title Abstract", "", "", 'A "quoted one', ""]
    assert made.items.table["category"].tolist() == [0, -1, -1, 1, -1]
    notes = {name: value for name, value in made.notes.items() if value}
    assert notes == {
        "impressions": 3,
        "impressions_without_click": 1,
        "impressions_without_history": 1,
        "articles_without_metadata": 3,
        "shown_twice": 1,
    }
    check_dataset(Mind(str(tmp_path)))


def test_a_row_that_was_clicked_outweighs_its_copy(tmp_path: Path) -> None:
    made = load(tmp_path, ["1\tU\t11/11/2019 1:00:00 AM\t\tN1-0 N1-1 N2-0"])
    assert made.items.ids[made.item].tolist() == ["N1"]


def test_impressions_without_labels_are_to_predict(tmp_path: Path) -> None:
    made = load(tmp_path, [*BEHAVIORS, "12\tU3\t11/14/2019 1:00:00 AM\tN1\tN2 N3"])
    assert made.to_predict is not None
    assert made.to_predict.tolist() == [3]
    assert made.slates is not None
    assert made.slates.lengths.tolist() == [3, 2, 2, 2]


def test_with_a_split_by_time_the_clicks_of_the_last_day_are_the_target(tmp_path: Path) -> None:
    split = ByTime(window="1d", min_history=0).split(load(tmp_path, BEHAVIORS[:2]), "test")
    assert split.fold.requests.user.tolist() == [0]
    assert split.fold.target is not None
    assert split.fold.history.lengths.tolist() == [3, 1, 0][:2]


BAD = {
    "1\tU\t2019-11-11\tN1\tN1-0": "row 1: '2019-11-11' is not a time such as",
    "1\tU\t11/11/2019 1:00:00 AM\tN1": "line 1: it has fewer than 5 columns",
    "1\tU\t11/11/2019 1:00:00 AM\t\tN1-0 N2": "row 1: 'N2' has no label",
    f"{BEHAVIORS[0]}\n{BEHAVIORS[0]}": "row 2: the impression '11' appears twice",
}


@pytest.mark.parametrize("text", BAD)
def test_a_bad_line_is_reported_in_one_sentence(tmp_path: Path, text: str) -> None:
    with pytest.raises(InputError, match=BAD[text]):
        load(tmp_path, [text])


def test_a_folder_without_the_files_is_reported(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"behaviors\.tsv: no such file"):
        Mind(str(tmp_path)).load()
    with pytest.raises(InputError, match=r"dataset\.path is not set"):
        Mind().load()


def test_five_thousand_impressions_as_they_are(shared_data: Callable[[str], Path]) -> None:
    made = Mind(str(shared_data("mind-5k"))).load()
    assert made.slates is not None
    clicks = made.time is not None and int((made.time >= made.time.min() + 1).sum())
    assert (len(made.users), len(made.slates) + made.notes["shown_twice"], clicks) == (5000, 189_359, 7542)
    assert made.notes["impressions_without_history"] == 107
    assert len(np.unique(made.users.table["reader"])) == 4637


def test_impressions_without_a_click_may_be_kept_and_ask_without_an_answer(tmp_path: Path) -> None:
    plain = load(tmp_path)
    made = Mind(str(tmp_path), without_click="keep").load()
    assert made.items.ids[made.item[made.indptr[2] :]].tolist() == ["N1", "N4"]  # its history, then what says it asked
    assert made.weight[made.indptr[2] :].tolist() == [1, 0]
    assert made.weight[: made.indptr[2]].tolist() == [1] * 6
    assert made.item[: made.indptr[2]].tolist() == plain.item.tolist()
    assert made.time is not None
    assert made.time[-1] == np.datetime64("2019-11-13T12:00:01", "ms").astype(int)
    assert made.notes["impressions_kept_without_click"] == made.notes["impressions_without_click"] == 1
    fold = ByTime(window="1d", min_history=0).split(made, "test").fold
    assert fold.requests.user.tolist() == [0, 2]
    assert fold.target is not None
    assert fold.target.weight.tolist() == [1, 1, 0]
    check_dataset(Mind(str(tmp_path), without_click="keep"))
    with pytest.raises(InputError, match=r"dataset\.without_click=hold"):
        Mind(str(tmp_path), without_click="hold")  # type: ignore[arg-type]
