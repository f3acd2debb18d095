from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

import pytest

from recx.core.errors import InputError
from recx.parts.dataset.movielens import MovieLens

ROWS = [("196", "242", "3", "881250949"), ("22", "377", "1", "878887116"), ("196", "302", "4", "881250940")]
FORMATS = {
    "u.data": ("", "\t"),
    "ratings.dat": ("", "::"),
    "ratings.csv": ("userId,movieId,rating,timestamp\n", ","),
    "ml-100k.inter": ("user_id:token\titem_id:token\trating:float\ttimestamp:float\n", "\t"),
}


@pytest.mark.parametrize("zipped", [False, True])
@pytest.mark.parametrize("name", FORMATS)
def test_all_formats_give_the_same_events(tmp_path: Path, name: str, zipped: bool) -> None:
    header, mark = FORMATS[name]
    content = (header + "".join(mark.join(row) + "\n" for row in ROWS)).encode()
    path = tmp_path / (name + ".gz" * zipped)
    path.write_bytes(gzip.compress(content) if zipped else content)
    for where in (path, tmp_path):
        ratings = MovieLens(str(where)).load()
        assert ratings.users.ids.tolist() == [196, 22]
        assert ratings.items.ids[ratings.item].tolist() == [302, 242, 377]
        assert ratings.weight.tolist() == [4, 3, 1]
        assert ratings.time is not None
        assert ratings.time.tolist() == [881250940000, 881250949000, 878887116000]


def test_low_ratings_are_left_out_and_counted(tmp_path: Path) -> None:
    path = tmp_path / "u.data"
    path.write_text("".join("\t".join(row) + "\n" for row in ROWS))
    ratings = MovieLens(str(path), min_rating=3).load()
    assert ratings.users.ids.tolist() == [196]
    assert ratings.notes["rows_below_min_rating"] == 1
    with pytest.raises(InputError, match=r"u.data: no rating reaches dataset.min_rating=9"):
        MovieLens(str(path), min_rating=9).load()


def test_what_cannot_be_used_is_reported(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"dataset.path is not set: .* dataset.path="):
        MovieLens().load()
    with pytest.raises(InputError, match="the folder holds no ratings file"):
        MovieLens(str(tmp_path)).load()
    path = tmp_path / "u.data"
    path.write_text("1\t2\t3\t881250949\n1\t3\tgood\t881250949\n")
    with pytest.raises(InputError, match=r"u.data: column 'weight', row 2: 'good' is not a number"):
        MovieLens(str(path)).load()
    path.write_text("1\t2\t3\t881250949\n1\t3\n")
    with pytest.raises(InputError, match=r"u.data, row 2: 2 columns instead of 4"):
        MovieLens(str(path)).load()
    (tmp_path / "ratings.csv").write_text("userId,movieId,rating\n1,2,3\n")
    with pytest.raises(InputError, match=r"several ratings files \(ratings.csv, u.data\)"):
        MovieLens(str(tmp_path)).load()
    with pytest.raises(InputError, match=r"ratings.csv: column 'timestamp' is missing"):
        MovieLens(str(tmp_path / "ratings.csv")).load()


def test_ml_100k_has_the_counts_of_its_source(shared_data: Callable[[str], Path]) -> None:
    ratings = MovieLens(str(shared_data("ml-100k/ml-100k.inter.gz"))).load()
    assert (len(ratings), ratings.n_users, ratings.n_items) == (100_000, 943, 1_682)
    assert ratings.notes["duplicate_rows"] == 0
