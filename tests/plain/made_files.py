"""Small files in well-known formats, made after their published descriptions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

EVENTS = [
    (1 + u, 1 + (3 * u + n) % 11, 1 + (u + n) % 5, 880_000_000 + 86_400 * n + 60 * u)
    for u in range(12)
    for n in range(6)
]
"""User, item, rating and time in seconds: 12 users with 6 events each, of 11 items."""
USERS, ITEMS, N = 12, 11, 72


def _asin(item: int) -> str:
    return f"B00000{item:04}"


def _reviewer(user: int) -> str:
    return f"A{user:013}"


def _moment(time: int) -> str:
    return f"{datetime.fromtimestamp(time, UTC):%Y-%m-%dT%H:%M:%SZ}"


def _lines(form: Callable[[int, int, int, int], str]) -> str:
    return "".join(f"{form(*event)}\n" for event in EVENTS)


def _by_user(rows: Callable[[int], list[int]]) -> str:
    return "".join(f"{u} {' '.join(map(str, rows(u)))}\n" for u in range(1, USERS + 1))


def _items_of(user: int) -> list[int]:
    return [item for u, item, *_ in EVENTS if u == user]


def files() -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the name of a format, and name -> content of its files."""
    yield "movielens_100k", {"u.data": _lines(lambda u, i, r, t: f"{u}\t{i}\t{r}\t{t}")}
    yield "movielens_1m", {"ratings.dat": _lines(lambda u, i, r, t: f"{u}::{i}::{r}::{t}")}
    header = "userId,movieId,rating,timestamp\n"
    yield "movielens_csv", {"ratings.csv": header + _lines(lambda u, i, r, t: f"{u},{i},{r}.5,{t}")}
    header = "user_id:token\titem_id:token\trating:float\ttimestamp:float\n"
    yield (
        "recbole",
        {
            "x.inter": header + _lines(lambda u, i, r, t: f"{u}\t{i}\t{r}\t{t}"),
            "x.item": "item_id:token\tclass:token_seq\n" + "".join(f"{i}\tDrama War\n" for i in range(1, ITEMS + 1)),
        },
    )
    header = "user_id:token\titem_id_list:token_seq\titem_id:token\n"
    yield "recbole_sequences", {"x.train.inter": header + "".join(f"{u}\t{u} 3 4\t5\n" for u in range(1, 13))}
    yield (
        "amazon_ratings_2014",
        {"ratings_Beauty.csv": _lines(lambda u, i, r, t: f"{_reviewer(u)},{_asin(i)},{r}.0,{t}")},
    )
    yield "amazon_ratings_2018", {"All_Beauty.csv": _lines(lambda u, i, r, t: f"{_asin(i)},{_reviewer(u)},{r}.0,{t}")}
    yield (
        "amazon_reviews_2018",
        {
            "Beauty_5.json": _lines(
                lambda u, i, r, t: (
                    f'{{"reviewerID": "{_reviewer(u)}", "asin": "{_asin(i)}", "reviewerName": "x", "helpful": [0, 1], '
                    f'"reviewText": "Fine, it works", "overall": {r}.0, "summary": "ok", "unixReviewTime": {t}, '
                    '"reviewTime": "01 1, 2014"}'
                )
            )
        },
    )
    yield (
        "amazon_reviews_2023",
        {
            "All_Beauty.jsonl": _lines(
                lambda u, i, r, t: (
                    f'{{"rating": {r}.0, "title": "ok", "text": "fine", "images": [], "asin": "{_asin(i)}", '
                    f'"parent_asin": "{_asin(i)}", "user_id": "AE{u:026}", "timestamp": {t}000, "helpful_vote": 0, '
                    '"verified_purchase": true}'
                )
            )
        },
    )
    header = "timestamp,visitorid,event,itemid,transactionid\n"
    yield "retailrocket", {"events.csv": header + _lines(lambda u, i, r, t: f"{t}000,{u},view,{i},")}
    yield "yoochoose_clicks", {"yoochoose-clicks.dat": _lines(lambda u, i, r, t: f"{u},{_moment(t)},{i},0")}
    yield "yoochoose_buys", {"yoochoose-buys.dat": _lines(lambda u, i, r, t: f"{u},{_moment(t)},{i},12462,1")}
    header = "sessionId;userId;itemId;timeframe;eventdate\n"
    yield (
        "diginetica",
        {"train-item-views.csv": header + _lines(lambda u, i, r, t: f"{u};NA;{i};{t - 880_000_000};2016-05-09")},
    )
    yield (
        "gowalla",
        {"loc-gowalla_totalCheckins.txt": _lines(lambda u, i, r, t: f"{u}\t{_moment(t)}\t30.23\t-97.79\t{i}")},
    )
    yield (
        "lastfm_1k",
        {
            "userid-timestamp-artid-artname-traid-traname.tsv": _lines(
                lambda u, i, r, t: f'user_{u:06}\t{_moment(t)}\t\tThe "Band" {i}\t\tSong {r}'
            )
        },
    )
    yield (
        "lightgcn",
        {
            "train.txt": _by_user(lambda u: sorted(_items_of(u)[:-1])),
            "test.txt": _by_user(lambda u: _items_of(u)[-1:]),
        },
    )
    yield "user_item", {"Beauty.txt": _lines(lambda u, i, r, t: f"{u} {i}")}
    yield "sequences", {"Beauty.txt": _by_user(lambda u: _items_of(u)[: 3 + u % 3])}
    shown = "".join(
        f"{u}\tU{u % 4}\t11/{9 + u // 3}/2019 2:14:46 PM\tN1 N2\tN{u % 7}-1 N{7 + u}-0 N30-0\n" for u in range(1, 13)
    )
    yield (
        "mind",
        {
            "behaviors.tsv": shown,
            "news.tsv": "".join(f"N{i}\tnews\tlocal\tTitle {i}\tAbstract\thttps://x\t[]\t[]\n" for i in range(31)),
        },
    )
    beir = {
        "corpus.jsonl": "".join(
            f'{{"_id": "d{d}", "title": "Title {d}", "text": "red word{d}", "metadata": {{}}}}\n' for d in range(40)
        ),
        "queries.jsonl": "".join(f'{{"_id": "q{q}", "text": "word{q} blue", "metadata": {{}}}}\n' for q in range(33)),
    }
    grades = [f"q{q}\td{d}\t1\n" for q in range(30) for d in (q, (q + 7) % 40)]
    title = "query-id\tcorpus-id\tscore\n"
    yield (
        "beir",
        {**beir, "qrels/test.tsv": "".join([title, *grades[:20]]), "qrels/train.tsv": title + "".join(grades[20:])},
    )
    yield "beir_test", {**beir, "qrels/test.tsv": "".join([title, *grades])}
    passages = {"collection.tsv": "".join(f"{d}\tred word{d}, or not\n" for d in range(40))}
    queries = [f"{q}\tword{q} blue\n" for q in range(30)]
    graded = [f"{q}\t0\t{d}\t1\n" for q in range(30) for d in (q, (q + 7) % 40)]
    yield (
        "ms_marco_train",
        {
            **passages,
            "queries.train.tsv": "".join(queries[10:]),
            "queries.dev.small.tsv": "".join(queries[:10]),
            "qrels.train.tsv": "".join(graded[20:]),
            "qrels.dev.small.tsv": "".join(graded[:20]),
        },
    )
    yield (
        "ms_marco",
        {**passages, "queries.dev.small.tsv": "".join(queries), "qrels.dev.small.tsv": "".join(graded)},
    )
    judged = "".join(
        f"{(q + d) % 3} qid:{q} 1:0.{d} 2:0.{q % 10} #docid = GX{q}-{d}\n" for q in range(1, 31) for d in range(4)
    )
    yield "svmlight", {"S1.txt": judged}
    yield "svmlight_folder", {"train.txt": judged, "vali.txt": judged, "test.txt": judged}


MADE = dict(files())


def write(folder: Path, name: str) -> Path:
    """Write the files of a format into a folder, and return the path that stands for them."""
    folder.mkdir(parents=True, exist_ok=True)
    for file, text in MADE[name].items():
        (folder / file).parent.mkdir(exist_ok=True)
        (folder / file).write_text(text, encoding="utf-8")
    return folder if len(MADE[name]) > 1 and name != "recbole" else folder / next(iter(MADE[name]))
