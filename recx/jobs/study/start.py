"""``recx.study`` and ``python -m recx study``: from the words of a command line to a study that runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from recx.core.bounds import PositiveInt, Seed, coerce
from recx.core.errors import InputError
from recx.core.system.screen import echo
from recx.jobs.study import lock, run
from recx.jobs.study.plan import Local, Plan, Selection, planned, split_words
from recx.jobs.study.run import StudyResult
from recx.jobs.study.side_by_side import Workers, workers
from recx.jobs.study.spec import check_name, content_of, file_of, spec_of

IN_PYTHON = Path("the study")
"""What stands for the file, in errors, of a study that Python code gives."""


@dataclass(frozen=True)
class Request:
    """What a command line says besides the study.

    Attributes:
        jobs: How many cells run at a time; None: one for each core.
        data: The folder that ``{data}`` stands for.
        name: The name of the study, and of its folder; None: that of its file.
        ray: HOST:PORT of a Ray cluster, auto for that of this machine, local to start one; None: processes here.
        selection: Which cells are to run.
        overrides: Overrides of all cells.
    """

    jobs: PositiveInt | None = None
    data: str | None = None
    name: str | None = None
    ray: str | None = None
    selection: Selection = field(default_factory=Selection)
    overrides: Sequence[str] = ()

    @classmethod
    def of(cls, words: Sequence[str]) -> Request:
        """Return the request of the words of a command line.

        Raises:
            InputError: A word is no KEY=VALUE, or its value is wrong.
        """
        own: dict[str, str] = {}
        others = []
        for word in words:
            key, equals, value = word.partition("=")
            if not equals and not word.startswith("~"):
                raise InputError(f"{word!r} is not KEY=VALUE: write for example jobs=2, data=DIR, or an override")
            if key.startswith("hydra") and key != "hydra.searchpath":
                raise InputError(f"{word}: cells run by jobs=N, or on a Ray cluster by ray=local, auto or HOST:PORT")
            if key in WORDS:
                own[key] = value
            else:
                others.append(word)
        listed = {key: own[key].split(",") if key in own else [] for key in ("chains", "worlds", "seeds")}
        seeds = [coerce(int(one) if one.isdecimal() else one, Seed, "seeds") for one in listed["seeds"]]
        jobs = own.get("jobs")
        return cls(
            None if jobs is None else coerce(int(jobs) if jobs.isdecimal() else jobs, PositiveInt, "jobs"),
            own.get("data"),
            own.get("name"),
            own.get("ray"),
            Selection(listed["chains"], listed["worlds"], seeds),
            others,
        )

    @property
    def workers(self) -> Workers:
        """How many jobs run at a time, and where."""
        if self.ray is None:
            return workers(self.jobs)
        init = {"address": self.ray, "include_dashboard": False, "logging_level": "warning"}
        return workers(self.jobs, {**init, **({"num_cpus": self.jobs} if self.ray == "local" else {})})


WORDS = ("jobs", "data", "name", "ray", "chains", "worlds", "seeds")
"""The keys of a command line that are not of a configuration."""


def start(
    study: str | Mapping[str, Any], request: Request, *, resume: bool = False, group: str = "study"
) -> StudyResult:
    """Run a study, or what is missing of it.

    Args:
        study: The name of a study, the path of its file or of a lock file, or what such a file says.
        request: What the command line says besides.
        resume: Whether to go on with the study of this name.
        group: The group of option files in which a name is looked for.

    Raises:
        InputError: The study cannot be run; see ``recx.jobs.study.run.run``.
    """
    file = file_of(study, group) if isinstance(study, str) else IN_PYTHON
    content = content_of(file) if isinstance(study, str) else dict(study)
    return run.run(*_plan(content, file, request), request.workers, resume=resume)


def _plan(content: Mapping[str, Any], file: Path, request: Request) -> tuple[Plan, Local]:
    from recx.config.overrides import exact, readable
    from recx.config.put_aside import put_aside

    if request.name is not None:
        check_name(request.name, "name")
    if request.data is not None and not Path(request.data).expanduser().is_dir():
        raise InputError(f"data={request.data}: there is no such folder: give the one that holds the data of the study")
    data = None if request.data is None else Path(request.data).expanduser().absolute()
    words, local_words = split_words(put_aside(readable(request.overrides)))
    if lock.is_lock(content):
        name = request.name or str(content["study"])
        check_name(name, f"{file}: study")
        local = Local(data, (*local_words, exact("name", name)))
        changed = [one for one in words if not any(one in cell["overrides"] for cell in content["cells"])]
        if changed:
            raise InputError(
                f"{changed[0]}: a lock file says what its cells run: leave this out, or run the study "
                "itself (python -m recx help studies)"
            )
        plan = lock.plan_of(content, file, local, request.selection, words)
        for sentence in lock.differences(content):
            echo(sentence)
        return replace(plan, name=name), local
    default = request.name or ("study" if file == IN_PYTHON else None)
    spec = request.selection.of(spec_of(content, file, default))
    local = Local(data, (*local_words, exact("name", spec.name)))
    return planned(spec, local, words), local
