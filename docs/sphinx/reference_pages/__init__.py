"""What the reference says, made from the code: a function for each subject returns page -> its Markdown."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from reference_pages import commands, features, files_and_tracking, metrics, options, python_names

PAGES: tuple[Callable[[], Mapping[str, str]], ...] = (
    commands.pages,
    features.pages,
    files_and_tracking.pages,
    metrics.pages,
    options.pages,
    python_names.pages,
)
"""The functions; a page's name is its path under docs/reference, without ``.md``."""
