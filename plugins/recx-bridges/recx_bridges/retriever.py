"""A model of another library as a retriever, in an environment of its own: ``retriever=implicit``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from annotated_types import Predicate, doc

from recx.plugin import (
    Duration,
    FittedExternal,
    InputError,
    Interactions,
    Program,
    Seed,
    Seen,
    check,
    fit_program,
    python_of,
)

SCRIPTS = Path(__file__).parent / "scripts"
FILES = SCRIPTS / "recx_files.py"
HISTORY_ALONE = "the history of the fold, which is all that its script gives it"
NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
TEXT = re.compile(r"[A-Za-z0-9][A-Za-z0-9_+-]{0,40}")
OF_FILES = re.compile(r"path|dir|file|load|save|checkpoint|pretrain|dump|log|wandb|callback|config", re.IGNORECASE)
"""Settings by which a library would read or write elsewhere."""
ClassName = Annotated[str, Predicate(lambda name: NAME.fullmatch(name) is not None), doc("the name of a class")]


@dataclass(frozen=True)
class Bridge:
    """Runs a script of this package by the Python of the library's environment (``python -m recx bridge setup NAME``).

    The model learns from the history of the fold. The script is this package's own, so an option file may choose it;
    settings are numbers and short words alone, which cannot name a file.

    Attributes:
        library: The library.
        model: The class of the library, such as ``SASRecModel``.
        settings: Arguments of the class, or RecBole's settings: name -> number, word, true, false, or a list of these.
        timeout: The longest time that learning and each block of lists may take; None: any.
        seed: Seed of random numbers, where the model has some.
        seen: Whether items that the user has clicked are dropped or kept.
    """

    library: Literal["cornac", "implicit", "lenskit", "recbole", "rectools"]
    model: ClassName
    settings: Mapping[str, Any] = field(default_factory=dict)
    timeout: Duration | None = None
    seed: Seed = 0
    seen: Seen = "drop"
    gives_probabilities: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check(self, "retriever")
        for name, value in self.settings.items():
            _check_setting(name, value)

    @property
    def _program(self) -> Program:
        python = python_of(self.library)
        script = SCRIPTS / f"run_{self.library}.py"
        settings = {"model": self.model, "settings": self.settings}
        command = (str(python or "python"), "-W", "ignore::FutureWarning", str(script))  # so that errors stand out
        return Program(f"retriever={self.library}", command, settings, self.seed, self.timeout)

    @property
    def depends_on(self) -> tuple[object, ...]:
        """What counts for the stage cache: the scripts, and the packages of the environment."""
        return (*self._program.scripts, self._program.packages, FILES)

    @property
    def loaded(self) -> dict[str, Any]:
        """What the protocol card says of the library: its version, and a digest of all packages and the script."""
        return {**self._program.loaded, "from": f"{self.library}: {self.model}", "seen": HISTORY_ALONE}

    def preflight(self) -> None:
        """Check that the environment is there.

        Raises:
            InputError: It is not.
        """
        if python_of(self.library) is None:
            raise InputError(
                f"retriever={self.library}: its environment is missing: make it with "
                f"`python -m recx bridge setup {self.library}`"
            )

    def fit(self, history: Interactions) -> FittedExternal:
        """Let the model learn.

        Raises:
            InputError: The environment is missing.
            RecxError: The library fails.
        """
        self.preflight()
        return fit_program(self._program, self.seen, history)


def _check_setting(name: str, value: Any) -> None:
    """Raise InputError unless a setting is plain, and of the model alone."""
    values = value if isinstance(value, list | tuple) else [value]
    plain = all(one is None or isinstance(one, int | float) or _is_word(one) for one in values)
    if not NAME.fullmatch(name) or OF_FILES.search(name) or not plain:
        raise InputError(
            f"retriever.settings.{name}={value}: it must be a setting of the model that is a number, a short word, "
            "true or false, or a list of these, and none of files: use retriever=external for anything else"
        )


def _is_word(value: object) -> bool:
    return isinstance(value, str) and TEXT.fullmatch(value) is not None
