"""The state of the Git repository in the working directory."""

from __future__ import annotations

import re
import subprocess


def git_state() -> dict[str, str]:
    """Return ``commit`` and ``dirty`` (true or false) of the working directory's repository; {} if there is none."""
    command = ["git", "--no-optional-locks", "status", "--porcelain=v2", "--branch", "--untracked-files=no"]
    try:
        output = subprocess.run(command, capture_output=True, text=True, timeout=10, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        return {}  # no git, or the working directory is no repository
    commit = re.search(r"^# branch\.oid (.+)$", output, flags=re.MULTILINE)
    dirty = any(not line.startswith("#") for line in output.splitlines())
    return {"commit": commit[1] if commit else "(initial)", "dirty": str(dirty).lower()}
