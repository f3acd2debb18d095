"""The chain of a run, kept so that it serves again without being fitted."""
