"""The site: ``make docs`` builds it into docs/site. Sphinx reads the pages, MyST-NB runs the tutorials."""

from __future__ import annotations

import os
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from recx import __version__  # noqa: E402

project = "recx"
author = "The recx authors"
version = release = __version__

extensions = [
    "myst_nb",
    "sphinx_copybutton",
    "repository",
    "generated",
    "streams",
    "cells",
]
exclude_patterns = ["site", "sphinx", "jupyter_execute", "package.md"]
suppress_warnings = ["myst.strikethrough"]

myst_enable_extensions = ["colon_fence", "deflist"]  # formulas are plain text: MathJax would come from another host
myst_heading_anchors = 4
smartquotes = False  # quotes and dashes of settings are typed as they stand
highlight_language = "none"  # a command line is not Python

nb_execution_mode = "cache"  # runs again the tutorials that have changed
nb_execution_cache_path = str(HERE.parent / "site" / ".jupyter_cache")
nb_execution_raise_on_error = True
nb_execution_timeout = 900
nb_execution_in_temp = True
nb_merge_streams = True
os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
"""The ``python`` that a cell of a tutorial starts is the one that builds the site."""

copybutton_exclude = ".linenos, .gp, .go"

html_theme = "furo"
html_title = f"recx {version}"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_js_files = [("site.js", {"defer": "defer"})]
templates_path = ["templates"]
html_copy_source = False
html_show_sphinx = False
html_show_search_summary = False  # it is read from the page found, which a browser refuses to a page that is a file
html_theme_options = {"navigation_with_keys": True}
