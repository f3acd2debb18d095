"""Whether the trials that a sweep has done before would have the same settings now: option files can be edited."""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from recx.core.chosen import CHOSEN, NO_MATTER
from recx.core.errors import InputError
from recx.core.secrets import hidden_in
from recx.core.system.plain_files import read_text
from recx.core.system.serialize import flat
from recx.jobs.sweep.journal import Trial, TrialJournal


def hash_of(settings: Mapping[str, Any]) -> str:
    """Return a hash of the settings that a trial's figures depend on."""
    return hashlib.blake2b(json.dumps(_relevant(settings)).encode(), digest_size=16).hexdigest()


def check(sweep_id: str, journal: TrialJournal, before: Sequence[str]) -> None:
    """Raise InputError if the option files now give other settings to trials that are done.

    Args:
        sweep_id: The sweep that is taken up again.
        journal: Its trials.
        before: Overrides in front of those of every trial.
    """
    from recx.config.compose import compose, plain

    changes: dict[str, list[str]] = defaultdict(list)
    for trial in journal.trials():
        if trial.reason:
            continue  # it failed, and runs again
        now = plain(compose([*before, *trial.overrides]))
        if hash_of(now) != trial.settings:
            changes[_difference(trial, now)].append(str(trial.number))
    if changes:
        found = "; ".join(f"trial {', '.join(numbers)} with {change}" for change, numbers in changes.items())
        raise InputError(
            f"sweep_id={sweep_id}: the option files were edited since this sweep ran {found}: a table must not mix "
            "both: put the files back, or choose another sweep_id"
        )


def _difference(trial: Trial, now: Mapping[str, Any]) -> str:
    """Return which settings a trial ran with, and what they would be now."""
    import yaml

    file = Path(trial.folder, "config.yaml")
    if not file.is_file():
        return "other settings than now"  # it was pruned
    then, here = _relevant(yaml.safe_load(read_text(file))), _relevant(now)
    changed = [key for key in sorted(then.keys() | here.keys()) if then.get(key) != here.get(key)]
    shown = [f"{key}={then.get(key, 'nothing')} (now {here.get(key, 'nothing')})" for key in changed]
    return " ".join(shown) or "other settings than now"


def _relevant(settings: Mapping[str, Any]) -> dict[str, str]:
    """Return the flat settings that figures depend on, without passwords, which may be other ones."""
    shown = flat(hidden_in(settings))
    return {key: value for key, value in sorted(shown.items()) if key.partition(".")[0] not in (*NO_MATTER, CHOSEN)}
