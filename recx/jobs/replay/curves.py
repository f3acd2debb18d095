"""A replay as a run of MLflow: a step per window, so that its charts are curves over time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from recx.core.run_context import RunContext
from recx.jobs.replay.run import Replayed
from recx.tracking.past_run import REPLAY


def track(replayed: Replayed, said: dict[str, Any], folder: Path, uri: str | None) -> str | None:
    """Log the figures of a replay, a step per window, with its files; return the address of the run.

    Args:
        replayed: The replay.
        said: Its plain values.
        folder: The folder with its files.
        uri: The store; None: that of ``MLFLOW_TRACKING_URI``, and the one under ``outputs``. The configuration of the
            run does not decide, since it may be a stranger's.

    Raises:
        RecxError: The store cannot be opened or written to.
    """
    from recx.tracking.mlflow import MLflow

    kept = replayed.model.kept
    experiment = f"{kept.config.get('name')}/replay"
    with MLflow(uri=uri, experiment=experiment).run(
        experiment, kept.config, RunContext(name="replay", role=REPLAY)
    ) as run:
        run.log_tags(
            {"recx.replay.run": said["run"], "recx.replay.log": said["log"], "recx.replay.every": said["every"]}
        )
        run.log_curves(replayed.curves)
        run.log_curves({name: [float(row.counts[name]) for row in replayed.rows] for name in replayed.rows[0].counts})
        run.log_metrics({"alarms": float(len(replayed.alarms))})
        run.log_files(folder)
        return run.address
