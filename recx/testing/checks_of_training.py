"""The contract check of parts that train epoch by epoch (see ``recx.parts.shared.training``)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

from recx.core.errors import InputError
from recx.core.fit_summary import FitSummary
from recx.core.pruning import FirstFit, Pruned, noted, watched
from recx.core.types import Interactions, RankedLists
from recx.parts.shared.checkpoints import Keeper, Saved
from recx.parts.shared.epochs import Epochs, Stopping
from recx.testing.rules import expect, same_lists
from recx.testing.tiny_dataset import everyone_asks, last_out, some_candidates, tiny_world


def check_training(part: Stopping, interactions: Interactions | None = None, k: int = 7) -> None:
    """Raise AssertionError unless a retriever or ranker that trains can be interrupted, resumed and pruned.

    It is interrupted after its first checkpoint, after its last one and after one between, with and without a refit;
    each time it must go on from there and end as if it had never been.

    Args:
        part: The part to check, with settings by which it trains at least two epochs with a validation.
        interactions: The data to check it with; default: ``tiny_world()``.
        k: The length of a retriever's lists.
    """
    world, name = tiny_world() if interactions is None else interactions, type(part).__name__

    def end(of: Stopping) -> _End:
        with noted() as steps:
            return _End(*_fitted(of, world, k), steps)

    with TemporaryDirectory() as temporary:
        folder, kept = Path(temporary), replace(part, checkpoints=temporary, checkpoint_minutes=1e-9)
        for refit_all in (True, False):
            _check_steps(end(replace(part, refit_all=refit_all)), name)
            _check_resuming(replace(kept, refit_all=refit_all), end, folder, name)
            _empty(folder)
        with suppress(Pruned), watched(FirstFit(lambda course: len(course) == 2)):
            end(kept)
        expect(_endings(folder) == [], f"{name} must leave no checkpoint when it is pruned")


@dataclass(frozen=True, eq=False)
class _End:
    """What a training has ended with."""

    lists: RankedLists
    summary: FitSummary
    steps: list[tuple[int, float]]

    def same(self, other: _End) -> bool:
        one, two = ((end.steps, end.summary.curves, end.summary.notes) for end in (self, other))
        return one == two and same_lists(self.lists, other.lists)


def _fitted(settings: Stopping, world: Interactions, k: int) -> tuple[RankedLists, FitSummary]:
    """Return the lists of a part after its fit, and what it reports of that."""
    part: Any = settings  # the part itself, of which the settings are a base class
    if isinstance(settings, Epochs):
        history, requests = everyone_asks(world)
        retriever = part.fit(history)
        return retriever.retrieve(history, requests, k), retriever.summary
    now = last_out(world)
    past = last_out(now.history)
    ranker = part.fit(some_candidates(past), past)
    return ranker.rank(some_candidates(now), now.history, now.requests), ranker.summary


def _check_steps(end: _End, name: str) -> None:
    """Check that the validation of each epoch was reported, for pruning, and drawn as a curve."""
    curves = [curve for curve in end.summary.curves if curve.endswith("/valid_ndcg_at_10")]
    expect(len(curves) == 1, f"{name} must have a curve of its validation: set validation_users")
    expect(len(end.steps) > 1, f"{name} must train more than one epoch to be checked")
    expected = list(enumerate(end.summary.curves[curves[0]], start=1))
    expect(end.steps == expected, f"{name} must report the validation of each epoch once")


def _check_resuming(of: Stopping, end: Callable[[Stopping], _End], folder: Path, name: str) -> None:
    """Check that a training that is interrupted goes on from its checkpoint, which no other training does."""
    with _saving() as saves:
        whole = end(of)
    expect(_endings(folder) == [".done.npz"], f"{name} must leave its result alone when it has ended")
    for number in sorted({1, len(saves) // 2, len(saves)}):
        _empty(folder)
        with suppress(_InterruptedError), _saving(until=number):
            end(of)
        expect(_endings(folder) == [".running.npz"], f"{name} must leave a checkpoint when it is interrupted")
        _check_refused(replace(of, seed=of.seed + 1, resume=True), end, name)
        for left in (len(saves) - number, 0):  # from the checkpoint, then from the result
            with _saving() as later:
                again = end(replace(of, resume=True))
            expect(len(later) == left, f"{name} must train what is left, and no more, when it is resumed")
            expect(again.same(whole), f"{name} must end as if it had never been interrupted when it is resumed")


def _check_refused(other: Stopping, end: Callable[[Stopping], _End], name: str) -> None:
    try:
        end(other)
    except InputError as error:
        expect("seed" in str(error), f"{name} must say which settings of a checkpoint differ")
    else:
        raise AssertionError(f"{name} must refuse the checkpoint of other settings")


class _InterruptedError(BaseException):
    """The training was interrupted; no part catches this."""


@contextmanager
def _saving(until: int | None = None) -> Iterator[list[Saved]]:
    """Note the checkpoints that are written, and interrupt the training after so many of them."""
    save, saves = Keeper.save, list[Saved]()

    def noting(self: Keeper, saved: Saved) -> None:
        save(self, saved)
        saves.append(saved)
        if len(saves) == until:
            raise _InterruptedError

    with patch.object(Keeper, "save", noting):
        yield saves


def _endings(folder: Path) -> list[str]:
    return ["".join(file.suffixes) for file in folder.iterdir()]


def _empty(folder: Path) -> None:
    for file in folder.iterdir():
        file.unlink()
