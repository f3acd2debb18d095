"""``python -m recx doctor [KEY=VALUE ...]``: check the data and its split before any training."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict

from recx.cli.commands.parser import Parser
from recx.core.system.screen import echo


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

    from recx.config.compose import compose, plain
    from recx.config.overrides import readable
    from recx.core.system.threads import limited_to

    composed = compose(readable(chosen.overrides))
    config, choice = plain(composed), str(composed.hydra.runtime.choices["split"])
    with limited_to(config["runtime"]["threads"]):
        from recx.experiment import build
        from recx.experiment.doctor import cuts_of, examine

        experiment = build.plan(config).experiment
        interactions, split = experiment.load_and_split()
        findings = examine(interactions, split, cuts_of(experiment.evaluator), experiment.fold)
    size = {"users": interactions.n_users, "items": interactions.n_items, "events": len(interactions)}
    if chosen.json:
        rows = [{**asdict(finding), "share": finding.share} for finding in findings]
        echo(json.dumps({**size, "split": choice, "fold": experiment.fold, "findings": rows}, indent=2))
        return 0

    from recx.report.terminal.console import console_of_stdout
    from recx.report.terminal.print_doctor import print_findings

    sizes = ", ".join(f"{number:,} {name}" for name, number in size.items())
    print_findings(console_of_stdout(), findings, f"{sizes}; split={choice}, fold={experiment.fold}")
    return 0
