"""What Hydra runs: one job of a composed configuration, here or in the process of a launcher."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from recx.config import option_sources
from recx.core import project

if TYPE_CHECKING:
    from omegaconf import DictConfig


VARIABLES = {"HYDRA_FULL_ERROR": "1", "PYTHONSAFEPATH": "recx"}
"""While Hydra runs, its errors are raised instead of printed, and the workers that it starts import nothing from the
current folder, which may be a stranger's; until they run a job, which may start programs of its own."""


def run(arguments: Sequence[str]) -> None:
    """Let Hydra compose the configuration of the current project, and run its job or its jobs.

    Args:
        arguments: Hydra's flags, and overrides.

    Raises:
        InputError: The configuration cannot be used.
        RecxError: A run failed.
    """
    import hydra

    from recx.config.compose import prepare
    from recx.config.hydra_errors import explained
    from recx.config.hydra_internals import alone, checked
    from recx.jobs.benchmark.run import folder_of_benchmark
    from recx.jobs.launch import folder_of_run

    def check(config: DictConfig) -> None:
        _check(config)
        if {"-m", "--multirun"}.isdisjoint(arguments):
            folder = Path(config.hydra.run.dir)
            own = folder_of_run(folder) if config.get("benchmark") is None else folder_of_benchmark(folder)
            own.check_chosen()  # before Hydra creates it

    own = project.current()
    trusted = [f"{source.package}.*" for source in option_sources.packages()]
    with alone(), checked(check):
        before, variables = sys.argv, {name: os.environ.get(name) for name in VARIABLES}
        sys.argv = [*before[:1], *arguments]  # Hydra reads its arguments there
        os.environ.update(VARIABLES)
        try:
            with explained():
                hydra.main(config_path=prepare(), config_name=own.config_name, execution_whitelist=trusted)(Job(own))()
        except _RunFailed as failed:
            raise failed.error from None
        finally:
            sys.argv = before
            for name, value in variables.items():
                os.environ.pop(name, None)
                os.environ.update({} if value is None else {name: value})


def _check(config: DictConfig) -> None:
    """Check what Hydra composed, and put passwords aside, since Hydra writes it into files."""
    from recx.config import hydra_rules
    from recx.config.put_aside import put_aside_in

    hydra_rules.check(config)
    put_aside_in(config)


class _RunFailed(BaseException):
    """Carries the error of a run past Hydra, which would print a line of its own for every ``Exception``."""

    def __init__(self, error: Exception) -> None:
        super().__init__(str(error))
        self.error = error

    def __reduce__(self) -> tuple[type[_RunFailed], tuple[Exception]]:
        return _RunFailed, (self.error,)  # without the attributes that Hydra adds, which cannot be pickled


@dataclass(frozen=True)
class Job:
    """One job: a trial of a sweep, a benchmark or a single experiment.

    Attributes:
        project: The project of the command line, which also reaches the processes of a launcher this way.
    """

    project: project.Project

    def __call__(self, config: DictConfig) -> float | None:
        """Run the job; return the objective of a trial."""
        from hydra.core.hydra_config import HydraConfig

        folder = Path(HydraConfig.get().runtime.output_dir)
        os.chdir(HydraConfig.get().runtime.cwd)  # elsewhere in a cluster, and with hydra.job.chdir
        if os.environ.get("PYTHONSAFEPATH") == VARIABLES["PYTHONSAFEPATH"]:
            del os.environ["PYTHONSAFEPATH"]
        try:
            with project.entered(self.project):
                return _run(config, folder)
        except Exception as error:
            raise _RunFailed(error) from error
        finally:
            with suppress(OSError):
                folder.rmdir()  # Hydra created it; it is empty where the run never started


def _run(config: DictConfig, folder: Path) -> float | None:
    from hydra.core.hydra_config import HydraConfig
    from hydra.types import RunMode

    from recx.config.compose import plain

    if HydraConfig.get().mode == RunMode.MULTIRUN:
        from recx.jobs.sweep.trial import job

        return job(config)
    if config.get("benchmark") is not None:
        from recx.jobs.benchmark.run import benchmark, check

        check(benchmark(plain(config, HydraConfig.get()), folder))
    else:
        from recx.core.run_context import RunContext
        from recx.jobs.launch import folder_of_run, launch

        launch(plain(config, HydraConfig.get()), folder_of_run(folder), context=RunContext.from_environment())
    return None
