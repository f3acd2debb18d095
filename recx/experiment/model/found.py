"""The model of a run, wherever the run is: in a folder, in a store, or registered under a name."""

from __future__ import annotations

from pathlib import Path

from recx.core.errors import InputError
from recx.experiment.model.folder import MANIFEST, MODEL
from recx.experiment.saved_runs import folder_of, load
from recx.experiment.tracked_runs import tracked_model


def model_of(run: str | Path = "last", outputs: str | Path = "outputs", uri: str | None = None) -> Path:
    """Return the folder of the model of a run; nothing of it is read yet.

    Args:
        run: The folder of a run or of its model; an MLflow run id (its beginning is enough) or name; ``last`` for the
            run that finished last here; ``best:EXPERIMENT`` for the best of an MLflow experiment by ``fold=valid``;
            ``models:/NAME/VERSION`` or ``models:/NAME@ALIAS`` for a registered model.
        outputs: The folder that holds the runs.
        uri: The MLflow store to look in; None: that of ``MLFLOW_TRACKING_URI``, and the one in ``outputs``. What is
            not on this machine is fetched from there and checked against its hashes.

    Raises:
        InputError: There is no such run, it did not finish, or it kept no model.
        RecxError: A store cannot be read.
    """
    if (Path(run) / MANIFEST).exists():
        return Path(run)
    outputs = Path(outputs)
    if str(run) != "last" and folder_of(run, outputs) is None:
        tracked = tracked_model(str(run), outputs, uri)
        if tracked is not None:
            run = tracked
    folder = load(run, outputs, uri).folder
    if not (folder / MODEL / MANIFEST).exists():
        raise InputError(f"{folder}: this run kept no model (model=off, or a part that cannot be kept): run it again")
    return folder / MODEL
