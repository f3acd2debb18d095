"""Session-based nearest neighbours: what was clicked in the sessions that are most like the current one."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Literal

import numpy as np

from recx.core.bounds import Decay, NonNegativeFloat, PositiveInt, Seed, checked
from recx.core.errors import InputError
from recx.core.protocols import Seen
from recx.core.ragged import check_borders, check_numbers, indptr_of
from recx.core.row_order import borders_and_rows
from recx.core.similar import Similar
from recx.core.system.durations import Duration, milliseconds
from recx.core.types import Array, Doubles, Floats, Interactions, Ints, Longs, RankedLists, Requests
from recx.parts.retriever.neighbour_sessions import NEVER, Asking, Formula, Sessions, retrieve_from_sessions
from recx.parts.shared.top_k import Eligibility, Rules, lists_by_pieces

LISTS = 2_000  # requests answered by one thread at a time
Fading = Literal["div", "geometric", "same"]


@dataclass(frozen=True)
@checked("retriever")
class VSkNN:
    """Scores items by the sessions nearest to the user's current one: V-SkNN, and with other settings STAN and VSTAN.

    A session is all that a user has clicked, or with ``gap`` what lies between two pauses. Of the sessions with an item
    of the current one, the ``sample`` most recent are compared with it, and the ``neighbours`` most similar make

        similarity(n) = sum over the shared items of weight(item) / norm * 2 ** (-age(n) / half_life)
        score(i) = sum over n with i of similarity(n) * decay(n) * position_decay ** |p(i) - p*| * (1 + idf * idf(i))

    where ``weight`` grows along the current session, ``decay`` falls with the clicks since the last one on a shared
    item, p* is the place in n of its last shared item, and idf(i) is the logarithm of the number of sessions over that
    of the sessions with i. Of each session, only clicks before the request count, and it has two of them at least. The
    user's own session as it is stored, which is the beginning of the current one, is no neighbour.

    Sources: Jannach and Ludewig 2017 (SkNN), Ludewig and Jannach 2018 (V-SkNN), Garg et al. 2019 (STAN), Ludewig et
    al. 2019 (VSTAN), and their session-rec.

    Attributes:
        neighbours: Number of sessions that make the scores.
        sample: Number of sessions that are compared, the most recent; without times, in an order drawn by ``seed``.
        last: Number of last clicks of the current session that count.
        weighting: Weight of each of these n clicks in the similarity, by its place p from 1: ``div`` is p / n,
            ``geometric`` is ``recency ** (n - p)``, ``same`` is 1.
        decay: Factor by the place p of the last click on a shared item: ``div`` is 1 / (n - p + 1), the others as for
            ``weighting``.
        recency: Weight of each click relative to the next newer one, of ``geometric``.
        normalise: ``none`` divides the similarity by the number of items of the current session, ``cosine`` by the
            lengths of both sessions' vectors.
        position_decay: Factor for each place between an item and the neighbour's last shared one; 1: no influence.
        half_life: Time before the request that halves the similarity of a session that ended then; None: no influence.
        idf: Strength of the factor for rare items; 0: none.
        gap: Pause after which a session ends; None: all clicks of a user are one session.
        seed: Seed of the order of the sessions of data without times.
        seen: Whether items that the user has clicked are dropped or kept.
    """

    neighbours: PositiveInt = 100
    sample: PositiveInt = 1_000
    last: PositiveInt = 20
    weighting: Fading = "div"
    decay: Fading = "div"
    recency: Decay = 0.7
    normalise: Literal["cosine", "none"] = "none"
    position_decay: Decay = 1.0
    half_life: Duration | None = None
    idf: NonNegativeFloat = 0.0
    gap: Duration | None = None
    seed: Seed = 0
    seen: Seen = "drop"
    gives_probabilities: ClassVar[bool] = False

    def fit(self, history: Interactions) -> FittedVSkNN:
        """Cut the history into sessions and sort the clicks on each item by time.

        Raises:
            InputError: A setting needs times and there are none, or no session has two clicks.
        """
        if history.time is None:
            for name in ("half_life", "gap"):
                if getattr(self, name) is not None:
                    raise InputError(
                        f"retriever.{name}={getattr(self, name)} needs the times of the clicks, and this data has "
                        f"none: write retriever.{name}=null"
                    )
        indptr = _session_borders(history, self.gap_ms)
        lengths = np.diff(indptr)
        if len(history) and lengths.max() < 2:
            raise InputError(
                "retriever=vsknn recommends what else a session has, and every session of this data has one click: "
                f"choose another retriever{'' if self.gap is None else ', or a longer retriever.gap'}"
            )
        time = history.time
        if time is None:
            drawn = np.random.default_rng(self.seed).permutation(len(lengths))
            time = np.repeat(drawn, lengths)
        order = np.argsort(time, kind="stable")
        borders, rows = borders_and_rows(history.item[order], history.n_items)
        rows = order[rows].astype(rows.dtype)
        return FittedVSkNN(self, indptr, history.item, time, history.time is not None, borders, rows)

    @property
    def gap_ms(self) -> int:
        """The pause that ends a session in ms, longer than any if there is none."""
        return NEVER if self.gap is None else milliseconds(self.gap, "retriever.gap")


@dataclass(frozen=True, eq=False)
class FittedVSkNN:
    """The fitted retriever: the sessions, and where each item was clicked.

    Attributes:
        settings: The settings of the fit.
        indptr: Borders of the sessions' clicks [n_sessions + 1].
        item: The item of each click [n].
        time: The time of each click in ms, or the place of its session in the drawn order [n].
        timed: Whether these are times.
        borders: Where the clicks on each item begin in ``rows`` [n_items + 1].
        rows: The clicks by item, newest last [n].
    """

    settings: VSkNN
    indptr: Longs
    item: Ints
    time: Longs
    timed: bool
    borders: Longs
    rows: Array

    def check_read(self) -> None:
        check_borders(self.indptr, len(self.item))
        check_borders(self.borders, len(self.rows))
        check_numbers(self.item, len(self.borders) - 1)
        check_numbers(self.rows, len(self.item))
        if self.time.shape != self.item.shape or self.rows.shape != self.item.shape:
            raise ValueError("clicks without a time or a row")

    def for_users(self, history: Interactions) -> FittedVSkNN:
        return self

    def similar(self, item: int, k: int) -> Similar:
        """Return the items that a session of a click on this item, after all others, gets."""
        clicked, none = np.array([item], dtype=np.int32), np.zeros(0, dtype=np.int64)
        rules = Rules(none, none, np.zeros(1, np.int32), np.array([0, 1]), clicked)
        lists = self._lists(Asking(np.array([0, 1]), clicked, none, self._newest), rules, k)
        return Similar(lists.item, lists.score)

    def retrieve(self, history: Interactions, requests: Requests, k: int) -> RankedLists:
        """Return the items of the nearest sessions; a user without such sessions gets none.

        Raises:
            InputError: The history has other items than that of the fit.
        """
        if history.n_items != len(self.borders) - 1:
            raise InputError(
                f"retriever=vsknn was fitted on {len(self.borders) - 1} items, and this history has {history.n_items}: "
                "use one of the same items"
            )
        now = self._newest[:1].repeat(len(requests)) if requests.time is None or not self.timed else requests.time
        when = history.time if self.timed and history.time is not None else np.zeros(0, dtype=np.int64)
        eligibility = Eligibility(history, self.settings.seen)
        asking = Asking(history.indptr, history.item, when, now)
        return self._lists(asking, eligibility.rules(requests), k)

    def _lists(self, asking: Asking, rules: Rules, k: int) -> RankedLists:
        """Return the lists of the requests of ``rules``."""
        sessions = Sessions(self.indptr, self.item, self.time, self._session, self.rows, self.borders)

        def write(some: slice, item: Ints, score: Floats, length: Longs) -> None:
            own = rules._replace(now=rules.now[some], user=rules.user[some])
            of = asking._replace(now=asking.now[some])
            retrieve_from_sessions(sessions, self._formula, of, own, item, score, length)

        return lists_by_pieces(rules.user, k, LISTS, write)

    @cached_property
    def _session(self) -> Ints:
        """The session of each click [n]."""
        return np.repeat(np.arange(len(self.indptr) - 1, dtype=np.int32), np.diff(self.indptr))

    @cached_property
    def _newest(self) -> Longs:
        """A moment after all clicks [1]."""
        return np.array([self.time.max(initial=-1) + 1])

    @cached_property
    def _formula(self) -> Formula:
        """The settings as numbers."""
        of, place = self.settings, np.arange(1.0, self.settings.last + 1)
        geometric: Doubles = of.recency ** (place - 1)
        same: Doubles = np.ones(of.last)
        weight: Doubles = {"div": np.zeros(0), "geometric": geometric, "same": same}[of.weighting]
        decay: Doubles = {"div": 1 / place, "geometric": geometric, "same": same}[of.decay]
        half_life = np.inf if of.half_life is None else float(milliseconds(of.half_life, "retriever.half_life"))
        return Formula(
            of.neighbours, of.sample, weight, decay, of.normalise == "cosine", of.position_decay, half_life,
            self._rarity, of.gap_ms,
        )  # fmt: skip

    @cached_property
    def _rarity(self) -> Doubles:
        """The factor of each item [n_items]."""
        if not self.settings.idf:
            return np.ones(len(self.borders) - 1)
        pairs = np.unique(self._session.astype(np.int64) * (len(self.borders) - 1) + self.item)
        count = np.bincount(pairs % (len(self.borders) - 1), minlength=len(self.borders) - 1)
        return np.asarray(1 + self.settings.idf * np.log((len(self.indptr) - 1) / np.maximum(count, 1)))


def _session_borders(history: Interactions, gap: int) -> Longs:
    """Return the borders of the sessions [n_sessions + 1] of users who have clicked."""
    begins = np.ones(len(history), dtype=bool)
    begins[1:] = history.user[1:] != history.user[:-1]
    if history.time is not None:
        begins[1:] |= np.diff(history.time) > gap
    return indptr_of(np.diff(np.append(np.flatnonzero(begins), len(history))))
