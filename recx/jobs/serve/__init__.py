"""``python -m recx serve``: a run's model behind a REST interface, in processes that share its memory-mapped files."""
