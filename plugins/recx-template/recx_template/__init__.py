"""Parts for recx. Found by the entry point in pyproject.toml; chosen by the option files in conf/."""
