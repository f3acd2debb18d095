"""Registered models: a version for the model of a run, and the alias ``champion`` for the version to be used.

The alias moves to a new version only where the files of both runs say that it is better (see
``recx.core.trackers.Contest``). Each version has a tag that says whether it was chosen, and why or why not.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from recx.core.errors import InputError
from recx.core.progress import say
from recx.core.system.locks import turn
from recx.core.trackers import Contest, Verdict
from recx.tracking import store
from recx.tracking.fetched_runs import fetch_files
from recx.tracking.found_runs import found_run

if TYPE_CHECKING:
    from mlflow.entities import LoggedModel, Run
    from mlflow.entities.model_registry import ModelVersion
    from mlflow.tracking import MlflowClient

CHAMPION = "champion"
COMPARED, WAITING = "recx.compared", "not yet"
"""The tag of a version that says how it compares with the champion, and its text until that is known."""
OF_MODEL = "mlflow.modelVersions"
"""The tag by which MLflow's page of a model names its versions."""
TRIES = 5
"""How often a comparison starts again since the champion has changed meanwhile."""


@dataclass(frozen=True)
class Registry:
    """The versions of one name.

    Attributes:
        client: Client of the store.
        name: The name.
    """

    client: MlflowClient
    name: str

    def register(self, logged: LoggedModel, contest: Contest) -> None:
        """Register a model as the next version, which becomes the champion if it is better than the present one.

        Args:
            logged: The model.
            contest: Compares it with the model of another run.
        """
        self._create()
        with self._turn():
            self._say_what_is_missing()
            version = self.client.create_model_version(
                self.name,
                logged.artifact_location,
                logged.source_run_id,
                {COMPARED: WAITING},
                model_id=logged.model_id,
            )
            of_model = json.dumps([{"name": self.name, "version": version.version}])
            self.client.set_logged_model_tags(logged.model_id, {OF_MODEL: of_model})
            verdict = self._decided(str(version.version), contest)
            self.client.set_model_version_tag(self.name, version.version, COMPARED, verdict.why)
        say(f"  registered: version {version.version} of {self.name}, {verdict.why}")

    def _create(self) -> None:
        from mlflow.exceptions import MlflowException

        try:
            self.client.create_registered_model(self.name)
        except MlflowException as error:
            if error.error_code != "RESOURCE_ALREADY_EXISTS":
                raise

    @contextmanager
    def _turn(self) -> Iterator[None]:
        """Let no other process of this machine register in a sqlite store at the same time."""
        file = store.database(self.client.tracking_uri)
        with turn(file.with_name(f".{file.name}.models.lock")) if file else nullcontext():
            yield

    def _say_what_is_missing(self) -> None:
        """Say which versions were never compared, since their process ended before."""
        for version in self.client.search_model_versions(f"name = '{self.name}'"):
            if version.tags.get(COMPARED) != WAITING or self._is_running(version):
                continue
            why = "never compared with the champion, since its process ended before"
            say(
                f"  version {version.version} of {self.name} was {why}: run it again, or set the alias {CHAMPION} by "
                "hand if it should have it"
            )
            self.client.set_model_version_tag(self.name, version.version, COMPARED, why)

    def _is_running(self, version: ModelVersion) -> bool:
        run = self._run_of(version)
        return run is not None and run.info.status == "RUNNING"

    def _run_of(self, version: ModelVersion) -> Run | None:
        """Return the run of a version; None if it has none, or if it was removed from the store."""
        from mlflow.exceptions import MlflowException

        try:
            return self.client.get_run(version.run_id) if version.run_id else None
        except MlflowException as error:
            if error.error_code != "RESOURCE_DOES_NOT_EXIST":
                raise
            return None

    def _decided(self, version: str, contest: Contest) -> Verdict:
        """Compare a version with the champion, and move the alias if it is better.

        A server lets nobody wait for others, so the alias is read again before and after it is moved.
        """
        champion = self._champion()
        for _ in range(TRIES):
            verdict, now = self._compared(champion, contest), self._champion()
            if _number(now) == _number(champion):
                if not verdict.better:
                    return verdict
                self._move(version, now)
                now = self._champion()
                if _number(now) == version:
                    return verdict
            champion = now
        return Verdict(False, f"not the {CHAMPION}, which has changed {TRIES} times while it was compared")

    def _move(self, version: str, before: ModelVersion | None) -> None:
        """Move the alias, unless another process has just done so."""
        store.insert(
            lambda: self.client.set_registered_model_alias(self.name, CHAMPION, version),
            lambda: _number(self._champion()) != _number(before),
        )

    def _champion(self) -> ModelVersion | None:
        aliases = self.client.get_registered_model(self.name).aliases
        return self.client.get_model_version(self.name, aliases[CHAMPION]) if CHAMPION in aliases else None

    def _compared(self, champion: ModelVersion | None, contest: Contest) -> Verdict:
        if champion is None:
            first = contest.verdict(None)
            return Verdict(first.better, f"the first {CHAMPION}" if first.better else f"no {CHAMPION}: {first.why}")
        with TemporaryDirectory() as folder:
            try:
                run = self._run_of(champion)
                if run is not None:
                    fetch_files(self.client, found_run(run), Path(folder), contest.files)
                found = contest.verdict(Path(folder))
            except InputError as error:
                found = Verdict(False, str(error))
        if found.better:
            return Verdict(True, f"the {CHAMPION} instead of version {champion.version}: {found.why}")
        return Verdict(False, f"the {CHAMPION} stays version {champion.version}: {found.why}")


def _number(version: ModelVersion | None) -> str:
    return "" if version is None else str(version.version)
