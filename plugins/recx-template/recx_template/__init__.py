"""Parts for recx, found by the entry point in pyproject.toml and selected by the option files in conf/."""
