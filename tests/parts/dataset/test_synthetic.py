from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from recx.core.types import Interactions
from recx.parts.dataset.news import News

SMALL = {"readers": 300, "articles": 200, "days": 3}


@pytest.fixture(scope="module")
def world() -> Interactions:
    return News(seed=1).load()


def same(a: Interactions, b: Interactions) -> None:
    pairs = [(a.indptr, b.indptr), (a.item, b.item), (a.time, b.time), (a.to_predict, b.to_predict)]
    pairs += [(a.users.ids, b.users.ids), (a.items.ids, b.items.ids), (a.items.embedding, b.items.embedding)]
    pairs += [
        (mine[name], its[name])
        for mine, its in ((a.users.table, b.users.table), (a.items.table, b.items.table))
        for name in mine
    ]
    for one, other in pairs:
        np.testing.assert_array_equal(one, other)
    assert {**a.notes, "made_up_data": 1} == {**b.notes, "made_up_data": 1}  # its files do not say so


def test_the_written_folder_reads_back_as_the_generated_site(tmp_path: Path) -> None:
    sizes = [option for name, size in SMALL.items() for option in (f"--{name}", str(size))]
    command = [
        sys.executable,
        "-W",
        "error",
        "-m",
        "recx.parts.dataset.synthetic",
        str(tmp_path / "site"),
        "--seed",
        "4",
        *sizes,
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "dataset.path=" in done.stdout
    assert sorted(p.name for p in (tmp_path / "site").iterdir()) == [
        "articles.csv",
        "articles_emb.csv",
        "testA_click_log.csv",
        "train_click_log.csv",
    ]
    same(News(str(tmp_path / "site")).load(), News(seed=4, **SMALL).load())


def test_the_seed_decides_everything() -> None:
    same(News(seed=2, **SMALL).load(), News(seed=2, **SMALL).load())
    one, other = News(seed=2, **SMALL).load(), News(seed=3, **SMALL).load()
    assert len(one) != len(other) or (one.item != other.item).any()


def test_the_site_looks_like_a_news_site(world: Interactions) -> None:
    assert (world.n_users, world.n_items) == (5000, 2000)
    assert 6.5 < world.lengths.mean() < 9.5
    assert world.lengths.min() >= 1
    assert (world.lengths <= 3).mean() > 0.3
    assert np.quantile(world.lengths, 0.99) > 30
    assert world.items.embedding is not None
    assert world.items.embedding.shape == (2000, 64)
    assert world.to_predict is not None
    assert len(world.to_predict) == 1000
    assert world.notes["clicks_before_creation"] == 0
    assert world.notes["duplicate_rows"] == 0
    pairs = world.user.astype(np.int64) * world.n_items + world.item
    assert len(np.unique(pairs)) == len(pairs)


def test_popularity_is_heavy_tailed_and_fades(world: Interactions) -> None:
    clicks = np.sort(world.clicks)[::-1]
    assert clicks[:20].sum() > 0.1 * clicks.sum()
    assert world.time is not None
    created = world.items.table["created_at"][world.item]
    age = (world.time - created)[created < world.time] / 3_600_000
    assert 1 < np.median(age) < 12


def test_readers_click_by_day_and_follow_stories(world: Interactions) -> None:
    assert world.time is not None
    hour = np.bincount(world.time // 3_600_000 % 24, minlength=24)
    assert hour[18:22].sum() > 3 * hour[2:6].sum()
    # A pair read one after another by one reader is read so by others too, far beyond chance.
    inner = world.user[1:] == world.user[:-1]
    pairs = world.item[:-1][inner].astype(np.int64) * world.n_items + world.item[1:][inner]
    chance = (
        np.random.default_rng(0).permutation(world.item[1:][inner])
        + world.item[:-1][inner].astype(np.int64) * world.n_items
    )
    assert len(pairs) - len(np.unique(pairs)) > 1.5 * (len(chance) - len(np.unique(chance)))


@pytest.mark.parametrize(("readers", "articles", "days"), [(2, 20, 1), (50, 20, 2), (5, 300, 1)])
def test_tiny_sites_can_be_made(readers: int, articles: int, days: int) -> None:
    world = News(readers=readers, articles=articles, days=days).load()
    assert world.n_users == readers
    assert world.n_items == articles
