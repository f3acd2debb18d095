"""Finished runs, read back: ``recx.results.load("last").recommendations``."""

from recx.experiment.saved_runs import SavedRun, load

__all__ = ["SavedRun", "load"]
