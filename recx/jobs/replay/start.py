"""``recx.replay``: a replay from Python."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from recx.core.system.threads import limited_to
from recx.evaluation.drift import LARGE, MODERATE
from recx.experiment.model.found import model_of
from recx.experiment.model.model import Model
from recx.jobs.replay.alarms import Limit
from recx.jobs.replay.run import From, Replayed, Wanted, replayed


def replay(
    run: str | Path,
    log: str | Path,
    *,
    every: str = "1d",
    refit: str | None = None,
    alarms: Sequence[str] = (),
    reference: From = "fit",
    min_history: int | None = None,
    moderate: float = MODERATE,
    large: float = LARGE,
    uri: str | None = None,
) -> Replayed:
    """Ask the model of a run window by window of a log that goes on after its fit, and judge what it says.

    It is what ``python -m recx replay`` does, without its files and without MLflow.

    Args:
        run: The run, as ``recx.load_model`` takes it.
        log: A file of events in the form of the run's data.
        every: The length of a window, such as ``6h``.
        refit: The time between two fits of the run's recipe, whose gain is measured; None: nothing is fitted.
        alarms: Limits such as ``drift/*>0.25``.
        reference: Whether drift is measured from the window before the ``fit``'s end, or the ``first`` one after it.
        min_history: How many events a user needs before a window to be asked; None: as the run's split says.
        moderate: The index of stability from which drift is moderate.
        large: The one above which it is large.
        uri: The MLflow store in which the run is looked for.

    Returns:
        The figures of each window: ``frame``, a row per window; ``alarms``; ``trends``.

    Raises:
        InputError: There is no such run, it kept no model, or the log or a setting cannot be used.
    """
    limits = [Limit.of(text) for text in alarms]
    wanted = Wanted(Path(log), every, reference, refit, limits, min_history, moderate, large)
    model = Model.of(model_of(run, uri=uri))
    with limited_to((model.kept.config.get("runtime") or {}).get("threads")):
        return replayed(model, wanted)
