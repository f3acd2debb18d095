"""The version of recx, and when this process imported it."""

from time import time_ns

__version__ = "0.1.0"
STARTED = time_ns()
"""When this process imported recx, in unix nanoseconds."""
