"""A table of impressions and clicks, with columns of any names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import recx
from recx.core.errors import InputError
from recx.parts.dataset.impressions import Impressions
from recx.parts.dataset.synthetic_clicks import SyntheticClicks
from recx.testing import check_dataset

LOG = """list,item,position,clicked,price,ts
a,x,2,0,1.5,2024-05-01 10:00:03
a,y,1,1,2.5,2024-05-01 10:00:01
b,y,1,0,2.5,2024-05-02 10:00:00
b,z,2,0,0.5,2024-05-02 10:00:00
c,z,1,1,0.5,2024-05-03 10:00:00
c,x,2,1,1.5,2024-05-03 10:00:00
"""
DAY = 86_400_000
FIRST = 1_714_557_601_000
"""2024-05-01 10:00:01 in UTC."""


def write(folder: Path, text: str = LOG, name: str = "log.csv") -> str:
    (folder / name).write_text(text)
    return str(folder / name)


def test_a_log_becomes_clicks_and_the_lists_that_were_shown(tmp_path: Path) -> None:
    made = Impressions(path=write(tmp_path), features=("price",)).load()
    assert made.users.ids.tolist() == ["a", "b", "c"]
    assert made.items.ids.tolist() == ["x", "y", "z"]
    assert made.indptr.tolist() == [0, 1, 2, 4]
    assert made.weight.tolist() == [1, 0, 1, 1]  # b has no click, which an event of weight 0 says
    assert [made.items.ids[item] for item in made.item[[0, 2, 3]]] == ["y", "x", "z"]
    assert made.time is not None
    assert made.time.tolist() == [FIRST, FIRST + DAY - 1000, FIRST + 2 * DAY - 1000, FIRST + 2 * DAY - 1000]
    lists = made.slates
    assert lists is not None
    assert [made.items.ids[item] for item in lists.item] == ["y", "x", "y", "z", "z", "x"]  # by their positions
    assert lists.columns["position"].tolist() == [1, 2, 1, 2, 1, 2]
    assert lists.columns["price"].tolist() == [2.5, 1.5, 2.5, 0.5, 0.5, 1.5]
    assert {name: made.notes[name] for name in ("impressions", "impressions_without_click", "shown_twice")} == {
        "impressions": 3,
        "impressions_without_click": 1,
        "shown_twice": 0,
    }
    check_dataset(Impressions(path=str(tmp_path / "log.csv")))


@pytest.mark.parametrize("name", ["log.parquet", "log.tsv", "log.jsonl"])
def test_columns_of_other_names_in_other_formats_are_the_same_log(tmp_path: Path, name: str) -> None:
    plain = Impressions(path=write(tmp_path), time=None).load()
    frame = pd.read_csv(tmp_path / "log.csv").drop(columns="ts")
    frame.columns = pd.Index(["page", "sku", "slot", "bought", "eur"])
    path, bought = tmp_path / name, frame["bought"] == 1
    if name.endswith("parquet"):
        frame.assign(bought=bought).to_parquet(path)
    elif name.endswith("tsv"):
        frame.to_csv(path, sep="\t", index=False)
    else:
        frame.to_json(path, orient="records", lines=True)
    named = Impressions(path=str(path), list="page", item="sku", position="slot", clicked="bought", time=None).load()
    assert named.slates is not None
    assert plain.slates is not None
    assert named.item.tolist() == plain.item.tolist()
    assert named.slates.item.tolist() == plain.slates.item.tolist()
    assert named.time is None


def test_lists_without_a_click_can_be_dropped_and_a_repeated_item_counts_once(tmp_path: Path) -> None:
    again = "a,x,3,1,1.5,2024-05-01 10:00:05\n"
    made = Impressions(path=write(tmp_path, LOG + again), without_click="drop").load()
    assert made.indptr.tolist() == [0, 2, 2, 4]
    assert (made.weight == 1).all()
    assert made.notes["shown_twice"] == 1
    assert "impressions_kept_without_click" not in made.notes


def test_a_table_of_items_describes_them_and_may_have_more(tmp_path: Path) -> None:
    items = write(tmp_path, "item,category\nx,toys\ny,books\nz,toys\nnew,books\n", "items.csv")
    made = Impressions(path=write(tmp_path), items=items).load()
    assert made.items.ids.tolist() == ["new", "x", "y", "z"]
    assert made.slates is not None
    assert [made.items.ids[item] for item in made.slates.item] == ["y", "x", "y", "z", "z", "x"]
    assert "category" in made.items.table
    assert made.notes["items_without_events"] == 1


@pytest.mark.parametrize(
    ("settings", "text", "sentence"),
    [
        (
            {},
            LOG.replace("clicked", "tapped"),
            r"column 'clicked' is missing: .*dataset\.clicked=COLUMN .*predict-clicks",
        ),
        ({"list": "page"}, LOG, r"column 'page' is missing: .*dataset\.list=COLUMN"),
        ({"clicked": "price"}, LOG, r"column 'price', row 1: "),
        ({"features": ("clicked",)}, LOG, r"dataset\.features=clicked: dataset\.clicked names this column already"),
        ({"features": ("cost",)}, LOG, r"'cost'"),
        ({"features": ("item",)}, LOG, r"dataset\.features=item: dataset\.item names this column already"),
        (
            {},
            LOG.replace(",1,2.5,", ",0,2.5,").replace(",1,0.5,", ",0,0.5,").replace(",1,1.5,", ",0,1.5,"),
            "is 0 in every",
        ),
        ({}, LOG.replace("price", "rank"), r"the column 'position' or 'rank' could hold the positions: set dataset\."),
        ({"features": ("price",)}, LOG.replace(",2.5,", ",,"), r"column 'price', row 2: the value is missing"),
        ({"time": "ts"}, LOG, r"column 'ts'"),
    ],
)
def test_what_cannot_be_used_is_one_sentence(
    tmp_path: Path, settings: dict[str, Any], text: str, sentence: str
) -> None:
    with pytest.raises(InputError, match=sentence) as error:
        Impressions(path=write(tmp_path, text), **settings).load()
    assert "\n" not in str(error.value)


def test_without_a_path_the_setting_is_named() -> None:
    with pytest.raises(InputError, match=r"dataset\.path is not set: name the file, such as dataset\.path=impressions"):
        Impressions().load()


def test_a_log_in_a_file_gives_the_figures_of_the_data_that_it_was_written_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    made = SyntheticClicks(impressions=300).load()
    lists, clicks = made.slates, made.keep(made.weight > 0)
    assert lists is not None
    user = lists.user[lists.list_of_row]
    clicked = {*zip(clicks.user.tolist(), clicks.item.tolist(), strict=True)}
    rows = pd.DataFrame({"list": user, "item": lists.item, **lists.columns})
    rows["clicked"] = [int(pair in clicked) for pair in zip(user.tolist(), lists.item.tolist(), strict=True)]
    rows.sample(frac=1, random_state=0).to_parquet("log.parquet")
    words = ["+experiment=ctr", "tracker=console", "cache=off", "evaluator.resamples=20"]
    features = f"dataset.features=[{','.join(f'x{n}' for n in range(1, 7))}]"
    known = recx.run([*words, "dataset.impressions=300"])
    found = recx.run([*words, "dataset=impressions", "dataset.path=log.parquet", features])
    for name in ("rows", "click_rate", "auc_pooled", "logloss", "calibration_ratio"):
        assert found.metrics[f"end_to_end/{name}"] == pytest.approx(known.metrics[f"end_to_end/{name}"], rel=1e-5)
