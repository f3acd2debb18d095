"""What the reference says, made from the code: a function for each subject returns page -> its Markdown."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from reference_pages import features, options

PAGES: tuple[Callable[[], Mapping[str, str]], ...] = (options.pages, features.pages)
"""The functions; a page's name is its path under docs/reference, without ``.md``."""
