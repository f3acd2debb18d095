"""A whole run of fourteen clicks, every figure of which is worked by hand.

Clicks (minute): reader 1 reads 10 (0), 20 (1), 30 (10); reader 2: 10 (2), 30 (3), 20 (11); reader 3: 20 (4), 40 (5);
reader 4: 10 (6), 20 (7), 50 (12); reader 5: 30 (8); reader 6: 40 (9), 30 (13). Reader 5 has nothing to hold out; of
each other reader the last click is the target, asked for at its minute and unknown to everyone.

Clicks before the request, what the reader has read taken out, ties by article number:

reader  minute  clicks before                  candidates     target  rank
1       10      10: 3, 20: 3, 30: 2, 40: 1     30 40          30      1
2       11      the same                       20 40          20      1
3       5       10: 2, 20: 2, 30: 1            10 30          40      none, since 40 was first clicked later
4       12      as for 1                       30 40          50      none, since nobody clicked it before
6       13      as for 1                       10 20 30       30      3
"""

from __future__ import annotations

from pathlib import Path

import pytest

from recx.config.compose import compose, plain
from recx.experiment.build import experiment
from recx.experiment.experiment import Result

MINUTE, START = 60_000, 1_506_816_000_000
CLICKS = [
    (6, 30, 13), (4, 50, 12), (2, 20, 11), (1, 30, 10), (6, 40, 9), (5, 30, 8), (4, 20, 7), (4, 10, 6), (3, 40, 5),
    (3, 20, 4), (2, 30, 3), (2, 10, 2), (1, 20, 1), (1, 10, 0),
]  # fmt: skip
HEADER = (
    "user_id,click_article_id,click_timestamp,click_environment,click_deviceGroup,click_os,click_country,"
    "click_region,click_referrer_type\n"
)


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> Result:
    folder: Path = tmp_path_factory.mktemp("clicks")
    lines = [f"{user},{article},{START + minute * MINUTE},4,1,17,1,13,1\n" for user, article, minute in CLICKS]
    (folder / "train_click_log.csv").write_text(HEADER + "".join(lines), encoding="utf-8")
    chosen = [f"dataset.path={folder}", "retriever=popularity", "ranker=identity", "tracker=console"]
    return experiment(plain(compose(chosen))).run()


def test_the_candidates_are_the_most_clicked_articles_before_the_request(result: Result) -> None:
    lists, ids = result.candidates, result.interactions.items.ids
    users = result.interactions.users.ids[lists.user]
    found = {
        int(user): list(zip(ids[lists.item[start:stop]].tolist(), lists.score[start:stop].tolist(), strict=True))
        for user, start, stop in zip(users, lists.indptr[:-1], lists.indptr[1:], strict=True)
    }
    assert found == {
        1: [(30, 2), (40, 1)],
        2: [(20, 3), (40, 1)],
        3: [(10, 2), (30, 1)],
        4: [(30, 2), (40, 1)],
        6: [(10, 3), (20, 3), (30, 2)],
    }


def test_the_recommendations_are_the_candidates(result: Result) -> None:
    assert result.recommendations is result.candidates


@pytest.mark.parametrize(
    ("figures", "expected"),
    [
        ("end_to_end/hit_at_5 end_to_end/hit_at_10", 3 / 5),
        ("end_to_end/recall_at_5 end_to_end/recall_at_10", 3 / 5),
        ("end_to_end/ndcg_at_5 end_to_end/ndcg_at_10", (1 + 1 + 0.5) / 5),  # rank 3: 1 / log2(4)
        ("end_to_end/precision_at_5", 3 / 5 / 5),
        ("end_to_end/precision_at_10", 3 / 10 / 5),
        ("end_to_end/map_at_5 end_to_end/map_at_10", (1 + 1 + 1 / 3) / 5),
        ("end_to_end/mrr_at_5 end_to_end/mrr_at_10 end_to_end/mrr", (1 + 1 + 1 / 3) / 5),
        ("end_to_end/users retrieval/users", 5),
        ("ranking/users", 3),
        ("ranking/hit_at_5 ranking/hit_at_10", 1),
        ("ranking/ndcg_at_5 ranking/ndcg_at_10", 2.5 / 3),
        ("ranking/precision_at_5", 1 / 5),
        ("ranking/precision_at_10", 1 / 10),
        ("ranking/map_at_5 ranking/map_at_10 ranking/mrr_at_5 ranking/mrr_at_10", (1 + 1 + 1 / 3) / 3),
        ("retrieval/recall_at_10 retrieval/recall_at_20 retrieval/recall_at_50", 3 / 5),
        ("retrieval/hit_at_10 retrieval/hit_at_20 retrieval/hit_at_50", 3 / 5),
        ("retrieval/ndcg_at_10 retrieval/ndcg_at_20 retrieval/ndcg_at_50", 2.5 / 5),
        ("retrieval/mrr_at_50", (1 + 1 + 1 / 3) / 5),
        ("funnel/candidate_recall", 3 / 5),
        ("funnel/lost_in_retrieval", 2 / 5),
        ("funnel/lost_in_ranking_at_5 funnel/lost_in_ranking_at_10", 0),
        ("funnel/lift_ndcg_at_5 funnel/lift_ndcg_at_10", 0),
        ("data/users", 6),
        ("data/items", 5),
        ("data/events", 14),
        ("data/requests data/targets", 5),
        ("data/users_left_out_too_few_events", 1),
    ],
)
def test_every_figure_is_the_one_worked_by_hand(result: Result, figures: str, expected: float) -> None:
    for name in figures.split():
        assert result.metrics[name] == pytest.approx(expected), name


def test_no_figure_is_left_unworked(result: Result) -> None:
    worked = next(
        mark for mark in test_every_figure_is_the_one_worked_by_hand.pytestmark if mark.name == "parametrize"
    ).args[1]
    names = {name for figures, _ in worked for name in figures.split()}
    assert result.report is not None
    assert set(result.report.means) <= names
