"""The page of a run, or of several runs: ``contents`` and ``several_runs`` collect its data, ``render`` makes HTML."""
