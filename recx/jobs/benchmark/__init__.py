"""Several rankers on the same queries: the quality, latency, throughput, memory and cost of each.

``rerank.py`` holds the settings, ``run.py`` is the way from a configuration to the tables; each ranker is measured by
``worker.py`` in a process of its own.
"""
