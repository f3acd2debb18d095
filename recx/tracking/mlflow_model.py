"""A kept chain as a model of MLflow, logged through a client and the run's id, never through MLflow's global state.

The model's folder has no code and no pickle: the file ``MLmodel`` names a module of recx that loads what the run has
kept, which lies in ``data``.
"""

from __future__ import annotations

import json
import os
import platform
import shutil
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from recx.core.system.atomic import write_text
from recx.core.trackers import MODEL, Field, KeptModel, ModelForm
from recx.core.version import __version__
from recx.tracking import store
from recx.tracking.fetched_runs import hash_of
from recx.tracking.moved import folder_of

if TYPE_CHECKING:
    from mlflow.entities import LoggedModel, Metric, Run
    from mlflow.tracking import MlflowClient

MANIFEST, TAG = "model.json", "recx.model"
"""The file of a kept chain that lists all others with their hashes, and the tag of a run with its model's id and the
hash of this file."""
DATA, KIND = "data", "recommender"
"""The folder of a model with what the run has kept, and what MLflow's pages call such a model."""
AT_ONCE = 1_000
"""Figures that MLflow accepts in one call."""
REQUIREMENTS, ENVIRONMENT = "requirements.txt", "python_env.yaml"
EXAMPLE, SERVED_EXAMPLE = "input_example.json", "serving_input_example.json"


@dataclass(frozen=True)
class ModelLog:
    """Logs the model of a run.

    Attributes:
        client: Client of the store.
        run: The run.
        model: What it has kept.
    """

    client: MlflowClient
    run: Run
    model: KeptModel

    def links(self) -> bool:
        """Return whether the store is on the disk of the run's folder, so that no file has to be copied."""
        place = folder_of(self.client.get_experiment(self.run.info.experiment_id).artifact_location)
        if place is None or store.database(self.client.tracking_uri) is None:
            return False
        probe = place / f".{self.run.info.run_id}.part"
        try:
            place.mkdir(parents=True, exist_ok=True)
            os.link(next(file for file in self.model.folder.iterdir() if file.is_file()), probe)
        except OSError:
            return False
        probe.unlink()
        return True

    def log(self, figures: Sequence[Metric], *, linked: bool) -> LoggedModel:
        """Log the model with the figures of its run; one that could not be logged whole is marked as failed.

        Args:
            figures: The figures.
            linked: Whether to link files instead of copying them (see ``links``).
        """
        from mlflow.entities import LoggedModelOutput, Metric

        client, info = self.client, self.run.info
        logged = client.create_logged_model(
            info.experiment_id, MODEL, info.run_id, params=self.run.data.params, model_type=KIND
        )
        try:
            client.log_outputs(info.run_id, [LoggedModelOutput(logged.model_id, step=0)])
            with TemporaryDirectory() as written:
                self._describe(Path(written), logged)
                if linked:
                    _link(self.model.folder, Path(written), folder_of(logged.artifact_location) or Path())
                else:
                    client.log_model_artifacts(logged.model_id, str(self.model.folder), DATA)
                    client.log_model_artifacts(logged.model_id, written)
            of_model = [
                Metric(one.key, one.value, one.timestamp, one.step, logged.model_id, run_id=info.run_id)
                for one in figures
            ]
            for start in range(0, len(of_model), AT_ONCE):
                client.log_batch(info.run_id, metrics=of_model[start : start + AT_ONCE])
            manifest = hash_of(self.model.folder / MANIFEST)
            client.set_tag(info.run_id, TAG, f"{logged.model_id} {manifest}")
            return client.finalize_logged_model(logged.model_id, "READY")
        except BaseException as error:
            if not store.is_unreachable(error):
                with suppress(*store.failures()):
                    client.finalize_logged_model(logged.model_id, "FAILED")
            raise

    def _describe(self, folder: Path, logged: LoggedModel) -> None:
        """Write what MLflow reads of a model; nobody can load it without ``MLmodel``, which follows the data."""
        from mlflow.models import Model

        form, example = self.model.form, _frame(self.model.form.example)
        write_text(folder / REQUIREMENTS, "".join(f"{one}\n" for one in form.requirements))
        environment = {"python": platform.python_version(), "dependencies": [f"-r {REQUIREMENTS}"]}
        write_text(folder / ENVIRONMENT, json.dumps(environment) + "\n")
        write_text(folder / EXAMPLE, json.dumps(example) + "\n")
        write_text(folder / SERVED_EXAMPLE, json.dumps({"dataframe_split": example}) + "\n")
        described = Model(
            artifact_path=MODEL,
            run_id=logged.source_run_id,
            model_uuid=logged.model_id,
            model_id=logged.model_id,
            model_size_bytes=self.model.size,
            signature=signature_of(form),
            saved_input_example_info={
                **{"artifact_path": EXAMPLE, "serving_input_path": SERVED_EXAMPLE},
                **{"type": "dataframe", "pandas_orient": "split"},
            },
        )
        described.add_flavor("recx", version=__version__, requirements=list(form.requirements), data=DATA)
        described.add_flavor(
            "python_function",
            loader_module=form.loader,
            data=DATA,
            env={"virtualenv": ENVIRONMENT},
            python_version=platform.python_version(),
        )
        described.save(folder / "MLmodel")


def signature_of(form: ModelForm) -> Any:
    """Return MLflow's signature of a model, by which it checks what it is asked."""
    from mlflow.models import ModelSignature
    from mlflow.types.schema import AnyType, ColSpec, ParamSchema, ParamSpec, Schema

    def schema(fields: Sequence[Field]) -> Schema:
        kinds: dict[str, Any] = {"any": AnyType()}  # type: ignore[no-untyped-call]
        return Schema([ColSpec(kinds.get(one.kind, one.kind), one.name, required=one.needed) for one in fields])

    params = [ParamSpec(field.name, field.kind, field.default) for field in form.params]
    return ModelSignature(schema(form.inputs), schema(form.outputs), ParamSchema(params))


def _link(data: Path, described: Path, target: Path) -> None:
    """Put a model into its place in a store on the same disk, ``MLmodel`` last."""
    for file in sorted(data.rglob("*")):
        if file.is_file():
            place = target / DATA / file.relative_to(data)
            place.parent.mkdir(parents=True, exist_ok=True)
            os.link(file, place)
    for file in sorted(described.iterdir(), key=lambda file: (file.name == "MLmodel", file.name)):
        shutil.copyfile(file, target / file.name)


def _frame(columns: Mapping[str, Sequence[Any]]) -> dict[str, Any]:
    return {"columns": list(columns), "data": [list(row) for row in zip(*columns.values(), strict=True)]}
