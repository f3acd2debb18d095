"""``python -m recx doctor [KEY=VALUE ...]``: check the data and its split before any training.

Where ``dataset.path`` is given without a dataset, it says what the file or folder seems to be, and how to run on it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict
from typing import TYPE_CHECKING

from recx.cli.commands.parser import Parser
from recx.core.errors import InputError
from recx.core.system.screen import echo

if TYPE_CHECKING:
    from recx.parts.dataset.known_files import Published


def run(arguments: Sequence[str]) -> int:
    """Print the findings on the data that a run with these overrides would use; trains nothing and writes no file.

    A bad verdict is not an error.

    Raises:
        InputError: The configuration or the data cannot be used.
    """
    parser = Parser(prog="recx doctor", description="Check the data and its split before any training.")
    parser.add_argument("overrides", nargs="*", metavar="KEY=VALUE", help="the overrides of a run on this data")
    parser.add_argument("--json", action="store_true", help="print JSON")
    chosen = parser.parse_intermixed_args(arguments)

    from recx.cli.identified import identified
    from recx.config.compose import compose, plain
    from recx.config.overrides import readable
    from recx.core.system.threads import limited_to

    found = identified(chosen.overrides)
    if found is not None and not chosen.json:
        roles = "".join(f"\n  {role:<6} {what}" for role, what in found.roles.items())
        echo(f"It seems to be {found.what}.{roles}\n")
    composed = compose(readable(chosen.overrides if found is None else found.overrides))
    config, choice = plain(composed), str(composed.hydra.runtime.choices["split"])
    with limited_to(config["runtime"]["threads"]):
        from recx.experiment import build
        from recx.experiment.doctor import cuts_of, examine
        from recx.experiment.published import compared

        experiment = build.plan(config).experiment
        interactions, split = experiment.load_and_split()
        findings = examine(interactions, split, cuts_of(experiment.evaluator), experiment.fold)
        findings += compared(interactions, _published(experiment.dataset))
    size = {"users": interactions.n_users, "items": interactions.n_items, "events": len(interactions)}
    if chosen.json:
        rows = [{**asdict(finding), "share": finding.share} for finding in findings]
        told = {**size, "split": choice, "fold": experiment.fold, "findings": rows}
        if found is not None:
            told |= {"data": found.what, "roles": dict(found.roles), "command": found.command}
        echo(json.dumps(told, indent=2))
        return 0

    from recx.report.terminal.console import console_of_stdout
    from recx.report.terminal.print_doctor import print_findings

    sizes = ", ".join(f"{number:,} {name}" for name, number in size.items())
    print_findings(console_of_stdout(), findings, f"{sizes}; split={choice}, fold={experiment.fold}")
    if found is not None:
        echo(f"\nTo run on it:\n\n{found.command}")
    return 0


def _published(dataset: object) -> Sequence[Published]:
    """Return the published data in the format of a dataset's path, if it has one."""
    from recx.parts.dataset.files import expand_home
    from recx.parts.dataset.recognised_files import known_as

    path = getattr(dataset, "path", None)
    known = None
    if isinstance(path, str):
        with suppress(InputError):  # a pattern, an address, or a folder of several kinds
            known = known_as(expand_home(path))
    return () if known is None else known.format.published
