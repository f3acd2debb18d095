from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from recx.core.entities import UNKNOWN_TIME
from recx.core.errors import InputError
from recx.parts.dataset.news import News

T = 1506816000000
HEADER = (
    "user_id,click_article_id,click_timestamp,click_environment,click_deviceGroup,click_os,"
    "click_country,click_region,click_referrer_type\n"
)
TRAIN = (
    HEADER
    + f"5,70,{T + 9},4,3,20,1,20,2\n5,30,{T + 1},4,1,17,1,21,2\n5,70,{T + 9},4,3,20,1,20,2\n"
    + f"3,30,{T + 2},4,1,17,1,16,2\n"
)
TEST = HEADER + f"9,30,{T + 3},4,1,2,1,21,2\n3,70,{T + 4},4,1,17,1,16,2\n9,50,{T + 5},4,1,2,1,21,2\n"
ARTICLES = (
    f"article_id,category_id,created_at_ts,words_count\n70,8,{T},100\n60,4,{T + 99},200\n30,8,{T + 2},\n50,,,40\n"
)
EMBEDDINGS = "article_id,emb_0,emb_1\n30,0.5,1\n40,2,3\n70,,1\n"


@pytest.fixture
def site(tmp_path: Path) -> Path:
    (tmp_path / "train_click_log.csv").write_text(TRAIN)
    (tmp_path / "testA_click_log.csv").write_text(TEST)
    (tmp_path / "articles.csv").write_text(ARTICLES)
    (tmp_path / "articles_emb.csv").write_text(EMBEDDINGS)
    return tmp_path


def test_a_small_folder_by_hand(site: Path) -> None:
    news = News(str(site)).load()
    assert news.users.ids.tolist() == [5, 3, 9]
    assert news.items.ids.tolist() == [30, 40, 50, 60, 70]
    assert news.indptr.tolist() == [0, 2, 4, 6]
    assert news.items.ids[news.item].tolist() == [30, 70, 30, 70, 30, 50]
    assert news.time is not None
    assert (news.time - T).tolist() == [1, 9, 2, 4, 3, 5]
    assert news.to_predict is not None
    assert news.to_predict.tolist() == [2, 1]
    assert news.items.table["created_at"].tolist() == [T + 2, UNKNOWN_TIME, UNKNOWN_TIME, T + 99, T]
    assert news.items.table["category"].tolist() == [1, -1, -1, 0, 1]
    np.testing.assert_array_equal(news.items.table["words"], np.array([np.nan, np.nan, 40, 200, 100], np.float32))
    assert news.items.has_embedding.tolist() == [True, True, False, False, False]
    assert news.users.table["os"].tolist() == [1, 1, 0]
    assert dict(news.notes) == {
        "articles": 5,
        "articles_unclicked": 2,
        "articles_without_metadata": 1,
        "articles_without_embedding": 3,
        "metadata_of_unclicked_articles": 1,
        "duplicate_articles": 0,
        "duplicate_embeddings": 0,
        "duplicate_rows": 1,
        "clicks_train": 4,
        "clicks_before_creation": 1,
        "clicks_test_a": 3,
        "readers_to_predict": 2,
        "readers_in_both_logs": 1,
    }


def test_only_the_clicks_are_needed_in_csv_gz_or_parquet(site: Path) -> None:
    whole = News(str(site)).load()
    for name in ("testA_click_log.csv", "articles.csv", "articles_emb.csv"):
        (site / name).unlink()
    plain = News(str(site)).load()
    assert plain.to_predict is None
    assert plain.items.embedding is None
    assert dict(plain.items.table) == {}
    assert plain.notes["articles_without_metadata"] == plain.notes["articles_without_embedding"] == 2
    log = site / "train_click_log.csv"
    pd.read_csv(log).to_parquet(site / "clicks.parquet")
    zipped = site / "train_click_log.csv.gz"
    zipped.write_bytes(gzip.compress(log.read_bytes()))
    with pytest.raises(InputError, match=r"holds both train_click_log.csv and train_click_log.csv.gz"):
        News(str(site)).load()
    log.unlink()
    by_gz = News(str(site))
    (site / "clicks.parquet").rename(site / "away")
    gz = by_gz.load()
    zipped.unlink()
    (site / "away").rename(site / "clicks.parquet")
    for other in (gz, News(str(site)).load()):
        assert other.items.ids[other.item].tolist() == plain.items.ids[plain.item].tolist()
        assert other.users.ids.tolist() == plain.users.ids.tolist() == whole.users.ids.tolist()[:2]


def test_the_order_of_the_rows_changes_only_the_numbering(site: Path) -> None:
    first = News(str(site)).load()
    rows = TRAIN.splitlines()
    (site / "train_click_log.csv").write_text("\n".join([rows[0], *rows[:0:-1]]) + "\n")
    second = News(str(site)).load()
    for user, number in zip(first.users.ids, range(first.n_users), strict=True):
        other = int(np.flatnonzero(second.users.ids == user)[0])
        mine, its = (slice(*i.indptr[[n, n + 1]]) for i, n in ((first, number), (second, other)))
        np.testing.assert_array_equal(first.item[mine], second.item[its])
        for name, column in first.users.table.items():
            assert column[number] == second.users.table[name][other]


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("train_click_log.csv", TRAIN.replace("click_timestamp", "click_time"), "column 'click_timestamp' is missing"),
        (
            "train_click_log.csv",
            TRAIN.replace("\n3,", "\nbob,"),
            "column 'user_id', row 4: 'bob' is not a whole number",
        ),
        ("train_click_log.csv", TRAIN.replace("\n3,", "\n,"), "column 'user_id', row 4: the value is missing"),
        (
            "train_click_log.csv",
            TRAIN.replace(",70,", ",70.0,"),
            "column 'click_article_id', row 1: '70.0' is a decimal",
        ),
        ("train_click_log.csv", HEADER, "has a header but no rows"),
        ("testA_click_log.csv", TEST.replace(f"{T + 4}", "noon"), "column 'click_timestamp', row 2: 'noon'"),
        ("articles.csv", ARTICLES.replace("article_id", "id"), "column 'article_id' is missing"),
        ("articles.csv", ARTICLES.replace(f"{T}", "1506816"), "lies before"),
        ("articles_emb.csv", EMBEDDINGS.replace("emb_", "e"), "column 'emb_0' is missing"),
        ("articles_emb.csv", EMBEDDINGS.replace("2,3", "2,inf"), "column 'emb_1', row 2: the value is infinite"),
        ("articles_emb.csv", EMBEDDINGS.replace("2,3", "2,x"), "column 'emb_1', row 2: 'x' is not a number"),
    ],
)
def test_bad_files_are_reported_by_name(site: Path, name: str, content: str, said: str) -> None:
    if said == "lies before":
        content, said = ARTICLES.replace(f"{T},", "-3,"), "column 'created_at_ts', row 1: the time -3 lies before 1970"
    (site / name).write_text(content)
    with pytest.raises(InputError) as error:
        News(str(site)).load()
    assert said in str(error.value)
    assert name in str(error.value)


def test_seconds_require_the_unit_and_are_read_with_it(site: Path) -> None:
    (site / "articles.csv").unlink()
    for name, text in (("train_click_log.csv", TRAIN), ("testA_click_log.csv", TEST)):
        (site / name).write_text(text.replace("150681600000", "150681600"))
    with pytest.raises(InputError, match=r"train_click_log.csv: column 'click_timestamp': .* dataset.time_unit=s"):
        News(str(site)).load()
    time = News(str(site), time_unit="s").load().time
    assert time is not None
    assert time.min() == (T // 1000 // 10 * 10 + 1) * 1000


def test_a_wrong_folder_or_setting_is_reported(site: Path) -> None:
    with pytest.raises(InputError, match=r"no such folder; did you mean"):
        News(str(site) + "x").load()
    (site / "train_click_log.csv").rename(site / "train.csv")
    with pytest.raises(InputError, match=r"neither train_click_log.csv .* nor clicks.parquet, only .*train.csv"):
        News(str(site)).load()
    with pytest.raises(InputError, match=r"time_unit=sec: choose one of: d, dmy, excel, h, iso, m, mdy, ms, ns, s, us"):
        News(time_unit="sec")
    with pytest.raises(InputError, match=r"dataset.duplicates=dorp: did you mean 'drop'"):
        News(duplicates="dorp")  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"dataset.readers=0: it must be 2 or more"):
        News(readers=0)


def test_globo_day1_has_the_counts_of_its_source(shared_data: Callable[[str], Path]) -> None:
    news = News(str(shared_data("globo-tianchi-day1"))).load()
    assert (len(news), news.n_users, news.n_items) == (94_612 + 15_883, 31_374 + 7_844, 4_097)
    assert news.items.embedding is not None
    assert news.items.embedding.shape == (4_097, 250)
    assert news.items.has_embedding.all()
    assert news.notes["articles_without_metadata"] == 4_097 - 1_149
    assert news.to_predict is not None
    assert len(news.to_predict) == 7_844
    assert news.notes["clicks_before_creation"] == 94


def test_globo_25k_has_the_counts_of_its_source(shared_data: Callable[[str], Path]) -> None:
    news = News(str(shared_data("globo-tianchi-25k"))).load()
    assert (len(news), news.n_users) == (186_759 + 41_369, 25_000)
    assert news.items.embedding is None
    assert len(news.items.table["created_at"]) == news.n_items
    assert news.notes["articles_without_metadata"] == news.n_items - 7_313
