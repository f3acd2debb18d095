from __future__ import annotations

from math import nan

import pytest

from recx.experiment.advice import advice
from recx.experiment.click_advice import left_out, readings

GOOD, NONE, BAD = (0.7, 0.65, 0.75), (0.51, 0.46, 0.56), (0.3, 0.25, 0.35)
BETTER, UNKNOWN, WORSE = (0.9, 0.85, 0.95), (0.99, 0.95, 1.03), (1.2, 1.1, 1.3)


def figures(
    auc: tuple[float, float, float], entropy: tuple[float, float, float], error: float = 0.01, chance: float = 0.02
) -> dict[str, float]:
    ends = ("", "_low", "_high")
    return {
        **{f"end_to_end/auc_pooled{end}": value for end, value in zip(ends, auc, strict=True)},
        **{f"end_to_end/normalised_entropy{end}": value for end, value in zip(ends, entropy, strict=True)},
        "end_to_end/logloss": 0.2,
        "end_to_end/calibration_error": error,
        "end_to_end/calibration_error_by_chance": chance,
        "end_to_end/calibration_ratio": 1.25,
        "num_queries": 500.0,
    }


@pytest.mark.parametrize(
    ("auc", "entropy", "words"),
    [
        (GOOD, BETTER, "it ranks well, and its probabilities say more than the click rate does; they are calibrated"),
        (GOOD, WORSE, "the order is right and the probabilities are off: calibrate them (ranker.probabilities=platt)"),
        (GOOD, UNKNOWN, "it ranks well; whether its probabilities are better than the click rate cannot be told"),
        (NONE, BETTER, "no worse than the click rate, but that it puts clicks first cannot be told from chance"),
        (NONE, UNKNOWN, "no worse than the click rate, but that it puts clicks first cannot be told from chance"),
        (BAD, UNKNOWN, "no worse than the click rate, but it puts clicks last"),
        (NONE, WORSE, "cannot be told from chance, and always predicting the click rate is better"),
        (BAD, WORSE, "it puts clicks last, as if the labels or the scores were turned round, and always predicting"),
        ((0.7, nan, nan), (0.9, nan, nan), "one user alone has no interval, so it cannot be told"),
    ],
)
def test_the_readings(auc: tuple[float, float, float], entropy: tuple[float, float, float], words: str) -> None:
    [sentence] = readings(figures(auc, entropy))
    assert words in sentence
    assert f"auc {auc[0]:.3f} ({auc[1]:.3f} to {auc[2]:.3f}), log loss 0.2000, which is {entropy[0]:.3f}" in sentence


@pytest.mark.parametrize(
    ("auc", "entropy", "words"),
    [
        ((0.6, 0.5, 0.7), BETTER, "cannot be told from chance"),
        ((0.6, 0.501, 0.7), (0.9, 0.8, 1.0), "cannot be told of so few users"),
        ((0.6, 0.501, 0.7), (0.9, 0.8, 0.999), "say more than the click rate"),
        ((0.6, 0.501, 0.7), (1.1, 1.0, 1.2), "cannot be told of so few users"),
    ],
)
def test_intervals_decide_up_to_their_ends(
    auc: tuple[float, float, float], entropy: tuple[float, float, float], words: str
) -> None:
    assert words in next(readings(figures(auc, entropy)))


def test_a_calibration_error_beyond_chance_is_said_with_its_direction() -> None:
    [sentence] = readings(figures(GOOD, BETTER, error=0.03))
    assert "but they are not calibrated (calibration error 0.0300, by chance up to 0.0200" in sentence
    assert "predicted clicks are 1.25 times the observed ones" in sentence


def test_the_advice_of_a_run_has_one_reading_only() -> None:
    told = advice({**figures(GOOD, BETTER), "data/targets": 10.0, "data/candidates": 100.0, "end_to_end/auc": 0.9})
    assert len([sentence for sentence in told if sentence.startswith("auc ")]) == 1


def test_other_runs_have_none() -> None:
    assert not list(readings({"end_to_end/auc_pooled": 0.7, "end_to_end/logloss": 0.2}))
    assert not list(left_out({"data/impressions_without_click": 5.0}))


def test_impressions_that_were_left_out_are_said() -> None:
    found = {**figures(GOOD, BETTER), "data/impressions_without_click": 5.0}
    [sentence] = left_out(found)
    assert sentence.startswith("5 impressions without a click were left out")
    assert "dataset.without_click=keep" in sentence
    assert not list(left_out({**found, "data/impressions_kept_without_click": 5.0}))
