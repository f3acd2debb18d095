"""What the overrides of a study may not say, since its file may be a stranger's.

They compose and run chains of recx and of installed plugins, on data that they name. Whatever would run other code or a
program, act on Hydra itself, send something elsewhere or read the environment is refused, unless the command line
repeats it: then the person who types it wants it. What the command line does not repeat is no word of the person
(``recx.core.project``), so that a part which is about to import or to start something would refuse it again.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import is_dataclass
from typing import Any

from recx.core.errors import InputError
from recx.core.secrets import hidden_override, is_secret
from recx.jobs.study.spec import DATA, StudySpec

ELSEWHERE = {
    "hydra": "it has Hydra itself do something else",
    "tracker": "it says where runs are sent to",
    "engine": "it says which machines work",
    "cache": "it changes what other runs find in the stage cache",
}
"""First word of a key -> why a study may not set it."""
CODE = re.compile(r"_target_|_args_|_partial_|_recursive_|_convert_|object|callable|module|function|import\w*")
PROGRAM = re.compile(r"\w*commands?|cmd|program|executable|script|shell|argv|args|env|environment|setup|python|cwd")
SERVER = re.compile(r"\w*url|endpoint|api_key_env|proxy")
"""Settings that name a server which gets data, or the variable with the key for it."""
_READS = re.compile(r"\$\{\s*oc\.|\$\{[^}]*:")
"""Interpolations that call a resolver, such as one that reads the environment."""


def check(spec: StudySpec, typed: Collection[str] = ()) -> None:
    """Check every override of a study.

    Args:
        spec: The study.
        typed: The words of the command line, which permits what it repeats.

    Raises:
        InputError: One of them is a stranger's to refuse; the message names file, key and override.
    """
    for key, overrides in _of_all(spec):
        check_overrides(overrides, f"{spec.file}: {key}", typed)


def check_overrides(overrides: Sequence[str], where: str, typed: Collection[str] = ()) -> None:
    """Check some overrides (see ``check``); ``where`` they stand begins the message."""
    for override in overrides:
        why = _refused(override) if override not in typed else ""
        if why:
            raise InputError(
                f"{where}: {hidden_override(override)}: {why}, and a study may be a stranger's: repeat it on the "
                "command line if you want it, or leave it out"
            )


def _of_all(spec: StudySpec) -> Iterator[tuple[str, Sequence[str]]]:
    for name, chain in spec.chains.items():
        yield f"chains.{name}", chain.overrides
        yield f"chains.{name}.tune", chain.tune
    for name, overrides in spec.worlds.items():
        yield f"worlds.{name}", overrides


def _refused(override: str) -> str:
    """Return why an override is refused; "" if it is not."""
    from recx.config.hydra_errors import explained
    from recx.config.hydra_internals import is_deletion, key_of, parse
    from recx.config.overrides import readable

    if override.startswith("-"):
        return "it is a flag"
    with explained():
        [parsed] = parse(readable([override.replace(DATA, "DATA")]))
    key = key_of(parsed)
    first = re.split(r"[./@:]", key)[0]
    if first in ELSEWHERE:
        return ELSEWHERE[first]
    if _READS.search(override):
        return "it reads the environment"
    names = [*re.split(r"[./@:]", key), *([] if is_deletion(parsed) else _names(parsed.value()))]
    if any(CODE.fullmatch(name) for name in names):
        return "it names code to import"
    if any(PROGRAM.fullmatch(name) for name in names):
        return "it names a program to run"
    if any(SERVER.fullmatch(name) for name in names):
        return "it names a server to send data to"
    return "it sets a password or key" if any(map(is_secret, names)) or hidden_override(override) != override else ""


def _names(value: Any) -> Iterator[str]:
    """Yield the keys of a value, however deep."""
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield str(name)
            yield from _names(inner)
    elif is_dataclass(value):  # what Hydra makes of choice(), sort() and the like
        yield from _names([*vars(value).values()])
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _names(inner)
