"""The same three films in each of MovieLens's formats."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from recx.core.errors import InputError
from recx.core.types import Interactions
from recx.parts.dataset.movielens import MovieLens
from recx.parts.dataset.movies import FLAGS

FILMS = {
    1: ("Toy Story (1995)", ["Animation", "Comedy"]),
    2: ("Misérables, Les (1998)", ["Drama"]),
    3: ("unknown", []),
}


def line_of_u_item(film: int, title: str, genres: list[str]) -> str:
    flags = ["1" if flag in (genres or ["unknown"]) else "0" for flag in FLAGS]
    return "|".join([str(film), title, "01-Jan-1995", "", "http://us.imdb.com/M", *flags])


FORMATS = {
    "u.item": ("".join(f"{line_of_u_item(film, *about)}\n" for film, about in FILMS.items()), "latin-1"),
    "movies.dat": (
        "".join(f"{film}::{title}::{'|'.join(genres)}\n" for film, (title, genres) in FILMS.items()),
        "utf-8",
    ),
    "movies.csv": (
        "movieId,title,genres\n"
        + "".join(
            f'{film},"{title}",{"|".join(genres) or "(no genres listed)"}\n' for film, (title, genres) in FILMS.items()
        ),
        "utf-8",
    ),
}


def load(folder: Path, name: str, content: bytes) -> Interactions:
    (folder / "u.data").write_text("7\t1\t5\t881250949\n7\t2\t3\t881250950\n8\t1\t4\t881250951\n")
    (folder / name).write_bytes(content)
    return MovieLens(str(folder / "u.data"), items=str(folder / name)).load()


@pytest.mark.parametrize("zipped", [False, True])
@pytest.mark.parametrize("name", FORMATS)
def test_films_have_titles_years_and_genres(tmp_path: Path, name: str, zipped: bool) -> None:
    text, encoding = FORMATS[name]
    content = text.replace("\n", "\r\n").encode(encoding)
    events = load(tmp_path, name + ".gz" * zipped, gzip.compress(content) if zipped else content)
    items = events.items
    assert items.ids.tolist() == [1, 2, 3]
    assert events.item.tolist() == [0, 1, 0]
    assert items.table["text"].tolist() == [title for title, _ in FILMS.values()]
    np.testing.assert_array_equal(items.table["year"], [1995, 1998, np.nan])
    genres = items.lists["genres"]  # codes in the order of their names: Animation, Comedy, Drama
    assert (genres.indptr.tolist(), genres.code.tolist()) == ([0, 2, 3, 3], [0, 1, 2])
    assert events.notes["items_without_events"] == 1


def test_films_of_recbole_are_read_as_a_table(tmp_path: Path) -> None:
    content = (
        b"item_id:token\tmovie_title:token_seq\tclass:token_seq\n1\tToy Story\tAnimation Comedy\n2\tHeat\tAction\n"
    )
    events = load(tmp_path, "ml-100k.item", content)
    assert events.items.table["text"].tolist() == ["Toy Story", "Heat"]
    assert np.diff(events.items.lists["class"].indptr).tolist() == [2, 1]


@pytest.mark.parametrize(
    ("name", "content", "why"),
    [
        ("u.item", "1|Toy Story (1995)|01-Jan-1995\n", r"u.item, line 1: 3 fields instead of 24"),
        (
            "u.item",
            line_of_u_item(1, "T", ["War"]) + "\n\n" + line_of_u_item(2, "H", [])[:-1] + "2\n",
            "line 3: the genres",
        ),
        ("movies.dat", "1::A\n", "movies.dat, line 1: 2 fields instead of 3"),
        ("movies.dat", "tt1::A::War\n", "line 1: 'tt1' is no id of a film, which is a whole number"),
        (
            "movies.csv",
            "movieId,title\n1,A\n",
            "movies.csv: the first line is 'movieId,title', not 'movieId,title,genres'",
        ),
        ("movies.csv", "movieId,title,genres\n", "movies.csv holds no films"),
        ("movies.csv", "movieId,title,genres\n9,A,War\n", "dataset.items describes none of the items of the events"),
        ("films.csv", "movie,genres\n1,War\n", ""),
    ],
)
def test_what_cannot_be_used_is_reported(tmp_path: Path, name: str, content: str, why: str) -> None:
    if not why:
        assert load(tmp_path, name, content.encode()).items.ids.tolist() == [1, 2]
        return
    with pytest.raises(InputError, match=why):
        load(tmp_path, name, content.encode())
