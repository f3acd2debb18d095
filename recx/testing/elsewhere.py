"""Another process, in which a kept part must do without being fitted: a child that reads what a check wrote.

One child serves all checks of a process. It gets a folder per line, and answers with a line of JSON: null, or what went
wrong. In it, ``fit`` of every class of a part raises.
"""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Any

from recx.config import part_classes
from recx.core.errors import InputError
from recx.core.memo import made_of, remember
from recx.core.types import Interactions
from recx.storage import values
from recx.testing.rules import expect

GIVEN, RESULT = "given", "result"


def result_elsewhere(part: Any, method: str, *arguments: Any) -> Any:
    """Return what a method of a fitted part returns in another process, which has the part from files.

    Args:
        part: The part; it and what was made of the histories among the arguments are all that the process has.
        method: The name of the method.
        *arguments: Its arguments.

    Raises:
        AssertionError: The part cannot be written or read, or it is fitted again.
    """
    name, roots = type(part).__name__, set(sys.path)

    def found(path: str) -> type:
        kind = locate(path)
        file = getattr(sys.modules[kind.__module__], "__file__", None)
        if file is not None:
            roots.add(str(Path(file).parents[kind.__module__.count(".")]))
        return kind

    histories = [one for one in arguments if isinstance(one, Interactions)]
    made = [[one for one in made_of(of) if values.is_storable(one, found)] for of in histories]
    given = {"part": part, "method": method, "arguments": arguments, "histories": histories, "made": made}
    with TemporaryDirectory() as folder:
        for inner in (GIVEN, RESULT):
            (Path(folder) / inner).mkdir()
        try:
            values.write(given, Path(folder) / GIVEN, found)
        except values.NotStorableError as error:
            raise AssertionError(
                f"{name} must be kept when fitted, so it must be a dataclass of plain values, arrays and other parts, "
                f"or have the methods save and load: it contains {error}"
            ) from error
        wrong = _asked({"folder": folder, "path": [*sys.path, *sorted(roots - set(sys.path))]})
        expect(wrong is None, f"{name} must serve in another process without being fitted: {wrong}")
        return values.read(Path(folder) / RESULT, locate)


def locate(path: str) -> type:
    """Return a class by its path ``module.Class``, also one of a test."""
    try:
        return part_classes.locate(path)
    except InputError:
        module, _, name = path.rpartition(".")
        try:
            found = vars(import_module(module)).get(name)
        except ImportError:
            found = None
        if not isinstance(found, type):
            raise
        return found


def _asked(request: Mapping[str, Any]) -> str | None:
    """Return what goes wrong in the child that serves what a folder holds; None if nothing does."""
    child = _child()
    assert child.stdin is not None
    assert child.stdout is not None
    print(json.dumps(request), file=child.stdin, flush=True)
    answer = child.stdout.readline()
    if not answer:
        _child.cache_clear()
        return "the process ended"
    wrong: str | None = json.loads(answer)
    return wrong


@cache
def _child() -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-W", "ignore", "-m", __name__]
    child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)
    atexit.register(_end, child)
    return child


def _end(child: subprocess.Popen[str]) -> None:
    for stream in (child.stdin, child.stdout):
        if stream is not None:
            stream.close()
    child.wait()


def _main(requests: IO[str], answers: IO[str]) -> None:
    """Serve what the folders of the requests hold."""
    for line in requests:
        asked: Mapping[str, Any] = json.loads(line)
        sys.path[:] = asked["path"]
        try:
            _serve(Path(asked["folder"]))
            wrong = None
        except Exception as error:  # whatever the part raises is reported
            wrong = f"{type(error).__name__}: {error}"
        print(json.dumps(wrong), file=answers, flush=True)


def _serve(folder: Path) -> None:
    given = values.read(folder / GIVEN, _without_fit)
    for history, made in zip(given["histories"], given["made"], strict=True):
        remember(history, made)
    result = getattr(given["part"], given["method"])(*given["arguments"])
    values.write(result, folder / RESULT, locate)


def _without_fit(path: str) -> type:
    kind = locate(path)
    if "fit" in vars(kind):
        kind.fit = _fit  # type: ignore[attr-defined]
    return kind


def _fit(self: Any, *_: Any) -> None:
    raise AssertionError(f"{type(self).__name__} is fitted again")


if __name__ == "__main__":
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what parts print does not mix with the answers
    _main(sys.stdin, answers)
