"""The exit codes of the command line."""

from __future__ import annotations

from collections.abc import Mapping

DONE, FAILED, UNUSABLE, ALARM, INTERRUPTED, UNREAD = 0, 1, 2, 3, 130, 141

EXIT_CODES: Mapping[int, str] = {
    DONE: "all that was asked for was done",
    FAILED: "a run, a trial, a cell of a study or the machine failed, or a reproduced figure differs",
    UNUSABLE: "the data, the configuration or an argument cannot be used",
    ALARM: "a limit of `replay --alarm` was crossed",
    INTERRUPTED: "interrupted, by Ctrl-C or SIGTERM",
    UNREAD: "what read the output, such as `head`, closed it before the end",
}
"""Exit code -> what it means."""
