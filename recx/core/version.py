"""The version of recx, and the time of its import."""

from time import time_ns

__version__ = "0.1.0"
STARTED = time_ns()
"""When this process imported recx, in unix nanoseconds."""
