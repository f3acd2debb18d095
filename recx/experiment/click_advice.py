"""What the figures of predicted clicks call for: AUC, whether the order is right, read together with log loss.

Whether a figure is good is decided by its interval: an AUC above 0.5, a normalised entropy (log loss / that of always
predicting the click rate) below 1, a calibration error no larger than chance makes that of right probabilities.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from recx.core.notes import KEPT_WITHOUT_CLICK

Metrics = Mapping[str, float]
BY_CHANCE = "end_to_end/calibration_error_by_chance"
"""A figure that only ``evaluator=ctr`` reports."""


def readings(metrics: Metrics) -> Iterator[str]:
    """Say which of the four readings of AUC and log loss it is, or that it cannot be told."""
    if BY_CHANCE not in metrics:
        return
    auc, auc_low, auc_high = _ends(metrics, "auc_pooled")
    entropy, entropy_low, entropy_high = _ends(metrics, "normalised_entropy")
    figures = (
        f"auc {auc:.3f} ({auc_low:.3f} to {auc_high:.3f}), log loss {metrics['end_to_end/logloss']:.4f}, which is "
        f"{entropy:.3f} ({entropy_low:.3f} to {entropy_high:.3f}) times that of always predicting the click rate"
    )
    if not all(end == end for end in (auc_low, entropy_low)):
        yield f"{figures}: one user alone has no interval, so it cannot be told what the figures are worth"
    elif auc_low > 0.5 and entropy_high < 1:
        yield f"{figures}: it ranks well, and its probabilities say more than the click rate does{_calibrated(metrics)}"
    elif auc_low > 0.5 and entropy_low > 1:
        yield (
            f"{figures}: the order is right and the probabilities are off: calibrate them "
            "(ranker.probabilities=platt), and look whether clicks were as frequent in the fold it learned from"
        )
    elif auc_low > 0.5:
        yield (
            f"{figures}: it ranks well; whether its probabilities are better than the click rate cannot be told of so "
            f"few users{_calibrated(metrics)}"
        )
    elif entropy_low > 1:
        yield (
            f"{figures}: {_order(auc_high)}, and always predicting the click rate is better: look at features, model "
            "and data (`python -m recx doctor`)"
        )
    else:
        yield (
            f"{figures}: the probabilities are no worse than the click rate, but {_order(auc_high)}: it knows how "
            "often users click and not on what, so look for features that tell the items of a list apart"
        )


def left_out(metrics: Metrics) -> Iterator[str]:
    """Say that impressions without a click are missing, so that the click rate is too high."""
    n = metrics.get("data/impressions_without_click", 0)
    if BY_CHANCE in metrics and n and f"data/{KEPT_WITHOUT_CLICK}" not in metrics:
        yield (
            f"{n:,.0f} impressions without a click were left out, so every probability is that of impressions with a "
            "click, and too high for the others: set dataset.without_click=keep"
        )


def _ends(metrics: Metrics, name: str) -> tuple[float, float, float]:
    """Return a figure and the ends of its interval."""
    value, low, high = (metrics[f"end_to_end/{name}{end}"] for end in ("", "_low", "_high"))
    return value, low, high


def _order(auc_high: float) -> str:
    """Return what an AUC of which the interval reaches 0.5 says of the order."""
    if auc_high < 0.5:
        return "it puts clicks last, as if the labels or the scores were turned round"
    return "that it puts clicks first cannot be told from chance"


def _calibrated(metrics: Metrics) -> str:
    """Return whether the calibration error is one that right probabilities have too."""
    error, chance = metrics["end_to_end/calibration_error"], metrics[BY_CHANCE]
    if error <= chance:
        return (
            f"; they are calibrated as far as can be told (calibration error {error:.4f}, by chance up to {chance:.4f})"
        )
    ratio = metrics["end_to_end/calibration_ratio"]
    return (
        f"; but they are not calibrated (calibration error {error:.4f}, by chance up to {chance:.4f}; predicted clicks "
        f"are {ratio:.2f} times the observed ones): see the table calibration, and try ranker.probabilities=platt"
    )
