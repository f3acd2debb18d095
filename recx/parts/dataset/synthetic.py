"""A seeded small news site, and ``python -m recx.parts.dataset.synthetic DIR`` that writes it as files.

Articles belong to a story (a few articles published one after another), a story to a topic, a topic to a category.
Embeddings are scattered around category and topic centres, independently of stories. An article's popularity is
heavy-tailed, rises for about an hour after publication and then fades. A reader has favourite topics and comes in
sessions, more by day than by night. Each click follows the story just read, a favourite topic, or overall popularity.
"""

from __future__ import annotations

from argparse import ArgumentParser
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated

import numpy as np
from annotated_types import Ge

from recx.core.bounds import PositiveInt, Seed, coerce
from recx.core.errors import InputError
from recx.core.ragged import blocks
from recx.core.system.screen import echo
from recx.core.types import Array, Doubles, Floats, Longs
from recx.parts.dataset.news_files import CONTEXT, NewsTables, write_news

START = 1_506_816_000_000  # 2017-10-01T00:00Z, ms
HOUR = 3_600_000  # ms
DIMENSIONS, CATEGORIES, TOPICS = 64, 20, 160
STORY_LENGTH = 5.0  # articles per story, on average
HALF_LIFE, RISE = 5.0, 1.0  # hours in which an article's popularity halves, and in which it first builds up
CLICKS_MEDIAN, CLICKS_SPREAD, CLICKS_MOST = 4.8, 1.1, 200  # log-normal clicks per reader, mean about 8
FAINTEST, DEAD = 1e-12, 1e-9  # popularity of an unpublished article; share below which a range counts as empty
SPREAD = 1.6  # of the log of an article's appeal
FOLLOW, TASTE = 0.4, 0.35  # shares of clicks that follow the story or a favourite topic; the rest follow popularity
FUSSINESS = 6.0  # inverse temperature of the choice by embedding similarity
OFFERS = 6  # articles that a reader chooses each click from
FAVOURITES = 3  # topics of each reader
NEW_SESSION = 0.35  # share of clicks that start a session
TESTED = 0.2  # share of readers in testA
UNDESCRIBED = 0.03  # share of articles without metadata
MEMORY = 8  # latest articles of a reader, which are not clicked again
RHYTHM = np.array([8, 5, 3, 2, 1, 1, 2, 4, 7, 8, 8, 8, 9, 9, 8, 8, 8, 9, 10, 11, 12, 12, 11, 10])  # clicks by hour
Readers = Annotated[int, Ge(2)]
Articles = Annotated[int, Ge(20)]
SIZES = {"readers": (Readers, 5000), "articles": (Articles, 2000), "days": (PositiveInt, 5), "seed": (Seed, 0)}
"""Options of the command: type and default."""
CONTEXTS = (3, 5, 8, 11, 28, 7)  # number of values of each column of CONTEXT


def make_news(readers: int, articles: int, days: int, seed: int) -> NewsTables:
    """Return the tables of a site; the same arguments give the same tables.

    A fifth of the readers are in testA, with their last click removed.

    Args:
        readers: number of readers, about 8 clicks each.
        articles: number of articles.
        days: number of days.
        seed: seed of the generator.
    """
    rng = np.random.default_rng(seed)
    site = _site(articles, days, rng)
    reader, time = _visits(readers, days, rng)
    item = _choices(site, reader, time, rng)
    return _tables(site, reader, item, time, rng)


@dataclass(frozen=True, eq=False)
class _Site:
    """The articles, sorted by topic, then story, then publication.

    Articles ``topic_start[t]:topic_start[t + 1]`` belong to topic ``t``; ``story_start`` is the same for stories.
    """

    topic: Longs
    story: Longs
    category: Longs
    created: Longs
    appeal: Doubles
    centre: Doubles  # of each topic
    embedding: Floats
    n_hours: int

    @cached_property
    def topic_start(self) -> Longs:
        return np.searchsorted(self.topic, np.arange(TOPICS + 1))

    @cached_property
    def story_start(self) -> Longs:
        return np.searchsorted(self.story, np.arange(self.story[-1] + 2))

    @cached_property
    def pull(self) -> Doubles:
        """Cumulative share of popularity before each article, at the start of each hour [n_hours, n_articles + 1]."""
        hours = START + HOUR * np.arange(self.n_hours)
        age = np.maximum((hours[:, None] - self.created) / HOUR, 0.0)
        pull = self.appeal * (1 - np.exp(-age / RISE)) * 0.5 ** (age / HALF_LIFE) + FAINTEST
        total = np.cumsum(np.pad(pull, ((0, 0), (1, 0))), axis=1)
        return np.asarray(total / total[:, -1:])

    @cached_property
    def line(self) -> Doubles:
        """All hours' cumulative shares, increasing [n_hours * n_articles], so that one search serves every hour."""
        return (self.pull[:, 1:] + np.arange(self.n_hours)[:, None]).ravel()

    def draw(self, hour: Longs, start: Longs, stop: Longs, chance: Doubles) -> Longs:
        """Return an article of each range ``start:stop`` by popularity in that hour; any article if a range is empty.

        Args:
            hour: hour of each draw [n].
            start: first article of each range [n].
            stop: end of each range [n].
            chance: uniform random numbers [n].
        """
        low, high = self.pull[hour, start], self.pull[hour, stop]
        dead = high - low < DEAD
        low, high = np.where(dead, 0.0, low), np.where(dead, 1.0, high)
        spot = np.searchsorted(self.line, hour + low + chance * (high - low), side="right")
        return np.asarray(np.clip(spot - hour * len(self.created), 0, len(self.created) - 1))


def _site(articles: int, days: int, rng: np.random.Generator) -> _Site:
    n_stories = max(1, round(articles / STORY_LENGTH))
    topic_of_story = np.sort(rng.choice(TOPICS, n_stories, p=_shares(TOPICS, rng)))
    start = _moments(rng.integers(-2, days, n_stories), rng)
    heat = rng.lognormal(0.0, 0.8, n_stories)
    story = rng.integers(n_stories, size=articles)
    created = start[story] + rng.exponential(4 * HOUR, articles).astype(np.int64)
    created = np.minimum(created, START + (24 * days - 1) * HOUR)
    order = np.lexsort((created, story))
    story, created = story[order], created[order]
    category_of_topic = rng.integers(CATEGORIES, size=TOPICS)
    centre = _unit(rng.normal(size=(CATEGORIES, DIMENSIONS)))[category_of_topic]
    centre = _unit(centre + 0.8 * _unit(rng.normal(size=(TOPICS, DIMENSIONS))))
    topic = topic_of_story[story]
    return _Site(
        topic=topic,
        story=story,
        category=category_of_topic[topic],
        created=created,
        appeal=heat[story] * rng.lognormal(0.0, SPREAD, articles),
        centre=centre,
        embedding=_unit(centre[topic] + 0.6 * _unit(rng.normal(size=(articles, DIMENSIONS)))).astype(np.float32),
        n_hours=24 * days,
    )


def _unit(vectors: Doubles) -> Doubles:
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True))


def _shares(n: int, rng: np.random.Generator) -> Doubles:
    shares = 1 / np.arange(3, n + 3)  # a mild Zipf law
    return rng.permutation(shares / shares.sum())


def _moments(day: Longs, rng: np.random.Generator) -> Longs:
    """Return a time (ms) on each day [n], by the usual share of clicks of each hour."""
    hour = rng.choice(24, len(day), p=RHYTHM / RHYTHM.sum())
    return START + (day * 24 + hour) * HOUR + rng.integers(HOUR, size=len(day))


def _visits(readers: int, days: int, rng: np.random.Generator) -> tuple[Longs, Longs]:
    """Return the reader and the time (ms) of every click, sorted by reader and time."""
    n_clicks = np.clip(np.rint(rng.lognormal(np.log(CLICKS_MEDIAN), CLICKS_SPREAD, readers)), 2, CLICKS_MOST)
    reader = np.repeat(np.arange(readers), n_clicks.astype(np.int64))
    opens = rng.random(len(reader)) < NEW_SESSION
    opens[np.searchsorted(reader, np.arange(readers))] = True
    session = np.cumsum(opens) - 1
    pause = np.cumsum(rng.exponential(0.03 * HOUR, len(reader)).astype(np.int64))
    start = _moments(rng.integers(days, size=int(session[-1]) + 1), rng)
    time = np.minimum(start[session] + pause - pause[opens][session], START + days * 24 * HOUR - 1)
    order = np.lexsort((time, reader))
    return reader, time[order]


def _choices(site: _Site, reader: Longs, time: Longs, rng: np.random.Generator) -> Longs:
    """Return the article of every click, drawn click by click for a block of readers at once."""
    indptr = np.searchsorted(reader, np.arange(reader[-1] + 2))
    item = np.empty(len(reader), dtype=np.int64)
    for first, last in blocks(len(indptr) - 1, 20_000):
        rows, lengths = indptr[first:last], np.diff(indptr[first : last + 1])
        favourites = rng.choice(TOPICS, (last - first, FAVOURITES), p=np.diff(site.topic_start) / len(site.topic))
        taste = site.centre[favourites].mean(axis=1).astype(np.float32)
        recent = np.full((last - first, MEMORY), -1, dtype=np.int64)
        for click in range(int(lengths.max())):
            who = np.flatnonzero(lengths > click)
            now = rows[who] + click
            follows = np.zeros(len(who), dtype=bool) if click == 0 else time[now] - time[now - 1] < HOUR
            liked = favourites[who, rng.integers(FAVOURITES, size=len(who))]
            start, stop = _ranges(site, liked, recent[who, (click - 1) % MEMORY], follows, rng)
            hour = (time[now] - START) // HOUR
            item[now] = _pick(site, (hour, start, stop), taste[who], recent[who], rng)
            recent[who, click % MEMORY] = item[now]
    return item


def _ranges(
    site: _Site, liked: Longs, previous: Longs, follows: Array, rng: np.random.Generator
) -> tuple[Longs, Longs]:
    """Return the range of articles that each click is chosen from: a story, a topic or the whole site."""
    mood = rng.random(len(liked))
    story = site.story[previous]
    in_story, in_topic = follows & (mood < FOLLOW), mood < FOLLOW + TASTE
    start = np.select([in_story, in_topic], [site.story_start[story], site.topic_start[liked]], 0)
    stops = [site.story_start[story + 1], site.topic_start[liked + 1]]
    return start, np.select([in_story, in_topic], stops, len(site.created))


def _pick(
    site: _Site, where: tuple[Longs, Longs, Longs], taste: Floats, recent: Longs, rng: np.random.Generator
) -> Longs:
    """Return one of a few offers, by similarity to the reader's taste (a softmax), none that was read recently."""
    hour, start, stop = (np.repeat(part, OFFERS) for part in where)
    offers = site.draw(hour, start, stop, rng.random(len(hour))).reshape(-1, OFFERS)
    liking = FUSSINESS * np.einsum("nod,nd->no", site.embedding[offers], taste) + rng.gumbel(size=offers.shape)
    liking[(offers[:, :, None] == recent[:, None, :]).any(axis=2)] = -np.inf
    return np.asarray(offers[np.arange(len(offers)), liking.argmax(axis=1)])


def _tables(site: _Site, reader: Longs, item: Longs, time: Longs, rng: np.random.Generator) -> NewsTables:
    n_articles, n_readers = len(site.created), int(reader[-1]) + 1
    article_id = rng.permutation(np.sort(rng.choice(4 * n_articles, n_articles, replace=False)))
    once = np.sort(np.unique(reader * n_articles + item, return_index=True)[1])  # no reader clicks an article twice
    reader, item, time = reader[once], item[once], time[once]
    clicks: dict[str, Array] = {"user_id": reader, "click_article_id": article_id[item], "click_timestamp": time}
    for name, n_values in zip(CONTEXT, CONTEXTS, strict=True):
        clicks[name] = np.minimum(rng.geometric(0.5, n_readers), n_values)[reader]
    last = np.append(reader[1:] != reader[:-1], True)
    able = np.flatnonzero(np.bincount(reader, minlength=n_readers) > 1)  # one click must be left as history
    tested = np.isin(reader, rng.choice(able, min(len(able), round(n_readers * TESTED)), replace=False))
    known = rng.random(n_articles) >= UNDESCRIBED
    by_id = np.argsort(article_id)
    described = by_id[known[by_id]]
    return NewsTables(
        train={name: column[~tested] for name, column in clicks.items()},
        test={name: column[tested & ~last] for name, column in clicks.items()},
        articles={
            "article_id": article_id[described],
            "category_id": site.category[described],
            "created_at_ts": site.created[described],
            "words_count": np.rint(rng.lognormal(5.2, 0.4, len(described))).astype(np.float32),
        },
        embedding_id=article_id[by_id],
        embedding=site.embedding[by_id],
    )


def main() -> None:
    """Write a site's folder."""
    description = "Write a synthetic news site as files."
    parser = ArgumentParser(prog="python -m recx.parts.dataset.synthetic", description=description)
    parser.add_argument("folder", type=Path)
    for name, (_, default) in SIZES.items():
        parser.add_argument(f"--{name}", type=int, default=default)
    options = parser.parse_args()
    try:
        tables = make_news(*(coerce(getattr(options, name), kind, f"--{name}") for name, (kind, _) in SIZES.items()))
        write_news(tables, options.folder)
    except (InputError, OSError) as error:
        parser.error(str(error))
    n_clicks = len(tables.train["user_id"])
    echo(f"{n_clicks} clicks; try: python -m recx +experiment=news dataset.path={options.folder}")


if __name__ == "__main__":
    main()
