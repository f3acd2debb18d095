"""The page of a run, or of several side by side: gathered by ``story``, rendered by ``page``, kept by ``write``."""
