"""The conclusion of a sweep in sentences, each with the figures behind it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from recx.jobs.sweep.conclusion import Conclusion, OnTest
from recx.jobs.sweep.pooled import Pooled
from recx.jobs.sweep.repeats import REPEATS, Repeat
from recx.jobs.sweep.variants import Variant
from recx.report.terminal.formats import figure, p_value, percent

FEW, LISTED = 4, 12
"""Variants up to which a sentence says their settings; trials that it names of more."""


def sentences(conclusion: Conclusion) -> list[str]:
    """Return what a sweep says: baseline, best, what is told apart from both, what was chosen and what that cost."""
    return list(_sentences(conclusion))


def _sentences(of: Conclusion) -> Iterator[str]:
    for repeat, n in _repeated(of).items():
        mean = of.nouns.say("the mean over all users, each once") if repeat.each_once else "its mean"
        one = f"trials that differ in their {repeat.name} alone count as one setting"
        yield f"{one}: {mean}, with the spread of {n} {repeat.name}s"
    if len(of.pooled) <= FEW:
        yield from (_pooled(of, one, of.pooled[one.name]) for one in of.done if one.name in of.pooled)
    yield from dict.fromkeys(one.missing for one in of.pooled.values() if one.missing)
    if of.baseline is not None:
        yield _baseline(of, of.baseline)
    best = of.best
    if best is not None and best is not of.baseline:
        yield f"best: {best.said}, {_against_baseline(of, best)}"
    if of.untested:
        yield f"nothing was tested: {of.untested}"
    elif of.tested:
        yield from _apart(of)
    if best is not None and of.alike:
        yield _alike(of, best)
    if of.chosen is not None:
        first = of.chosen.repeated and f"; its first {REPEATS[of.chosen.repeated].name}, trial "
        first = first and f"{first}{of.chosen.done[0].number}, stands for it"
        yield f"chosen: {of.chosen.said}, {of.why_chosen}{first}"
    if of.on_test is not None:
        yield _on_test(of, of.on_test)
    if of.importances:
        shares = ", ".join(
            f"{one.name} {percent(one.share)} ({percent(one.low)} to {percent(one.high)})" for one in of.importances
        )
        yield f"importance of the settings by fANOVA, over {sum(len(one.done) for one in of.variants)} trials: {shares}"
    if of.conditional:
        yield f"no importance is given of settings that apply to some trials only: {', '.join(of.conditional)}"


def _repeated(of: Conclusion) -> dict[Repeat, int]:
    """Return what the trials of variants differ in, such as seeds, and the largest number of them."""
    found: dict[Repeat, int] = {}
    for one in of.variants:
        if one.repeated:
            repeat = REPEATS[one.repeated]
            found[repeat] = max(one.runs, found.get(repeat, 0))
    return found


def _pooled(of: Conclusion, one: Variant, pooled: Pooled) -> str:
    """Return the objective of a variant over all its seeds or folds, with what it varies by."""
    row, name = pooled.row(of.objective), pooled.repeat.name
    runs = [trial.objective or 0.0 for trial in one.done]
    said = f"{one.text}: " if one.text else ""
    said += f"{of.objective} = {figure(one.objective)} "
    if pooled.repeat.each_once and row.get("users"):
        users = "user" if row["users"] == 1 else "users"
        interval = f"95 % interval {figure(row['low'])} to {figure(row['high'])}"
        said += (
            f"over {row['users']:,} {of.nouns.say(users)}, each once ({interval}), {figure(row['of_requests'])} over "
            f"{_plural(row['requests'], 'request')}"
        )
    else:
        said += f"over {len(runs)} {name}s"
    said += f"; by {name} {figure(min(runs))} to {figure(max(runs))}, standard deviation {figure(one.spread)}"
    trend, p = row.get("trend", math.nan), row.get("trend_p", math.nan)
    if trend == trend:
        said += f"; {figure(trend, '+')} per {name}" + (f", p {p_value(p)}" if p == p else "")
    return said


def _baseline(of: Conclusion, baseline: Variant) -> str:
    said = f"baseline: {baseline.said}, {of.why_baseline}"
    if not baseline.done:
        return f"{said}: it has no objective ({baseline.reason}), so nothing is held against it"
    best = ", which is the best mean" if baseline is of.best else ""
    return f"{said}: rank {of.rank(baseline)} of {len(of.done)}, {of.objective} = {figure(baseline.objective)}{best}"


def _against_baseline(of: Conclusion, one: Variant) -> str:
    """Return the objective of a variant, its difference from the baseline, and whether that may be chance."""
    row, value = of.standing(one), f"{of.objective} = {figure(one.objective)}"
    if not of.tested or of.baseline is None or not of.baseline.done:
        return value
    verdict = "told apart from the baseline" if of.differs(one) else "not told apart from the baseline"
    return (
        f"{value}: {figure(row['difference'], '+')} (95 % interval {figure(row['low'], '+')} to "
        f"{figure(row['high'], '+')}), p {p_value(row['p'])}, by Holm over {_plural(of.tested, 'test')} "
        f"{p_value(row['p_holm'])}: {verdict}"
    )


def _apart(of: Conclusion) -> Iterator[str]:
    """Yield what is told apart from the baseline."""
    found = [one for one in of.done if of.differs(one)]
    if not found:
        yield f"told apart from the baseline: none of {of.tested}"
    for word, sign in (("better", 1), ("worse", -1)):
        of_sign = [one for one in found if sign * of.standing(one)["difference"] > 0]
        if of_sign:
            yield f"{word} than the baseline: {len(of_sign)} of {of.tested}: {_listed(of_sign)}"


def _alike(of: Conclusion, best: Variant) -> str:
    """Return what is not told apart from the best."""
    others, n = [one for one in of.alike if one is not best], len(of.done) - 1
    if not others:
        return f"the best is told apart from {'the other' if n == 1 else f'all {n} others'}"
    count = f"{len(others)} of {n}" if n == 1 or len(others) < n else f"all {n}"
    among = ", the baseline among them" if of.baseline in others else ""
    return f"not told apart from the best: {count} other{'s' * (n > 1)}{among}: {_listed(others)}"


def _plural(count: int, word: str) -> str:
    return f"{count:,} {word}{'s' * (count != 1)}"


def _listed(variants: Sequence[Variant]) -> str:
    """Return variants with their settings if they are few, else the names of some of their trials."""
    if len(variants) <= FEW:
        return "; ".join(one.said for one in variants)
    names = ", ".join(one.name if len(one.trials) == 1 else f"({one.name})" for one in variants[:LISTED])
    return f"trials {names}{f' and {len(variants) - LISTED} more' if len(variants) > LISTED else ''}"


def _on_test(of: Conclusion, seen: OnTest) -> str:
    value = f"once on test: the chosen trial reaches {figure(seen.chosen)}"
    if of.chosen is of.baseline:
        return f"{value}; it is the baseline, so choosing cost nothing and gained nothing"
    if seen.baseline != seen.baseline:
        return value
    value = f"{value}, the baseline {figure(seen.baseline)}"
    if seen.difference != seen.difference or of.chosen is None:
        return value
    there = (
        f"{figure(seen.difference, '+')} (95 % interval {figure(seen.low, '+')} to {figure(seen.high, '+')}), "
        f"p {p_value(seen.p)}"
    )
    gain = of.standing(of.chosen)["difference"]
    left = f"; on valid it was {figure(gain, '+')}" if gain == gain else ""
    regret = figure(seen.regret) if seen.regret else "none"
    return f"{value}: {there}{left}; regret of choosing on valid instead of keeping the baseline: {regret}"
