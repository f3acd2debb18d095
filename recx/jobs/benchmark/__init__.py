"""Several rankers on the same queries: the quality, latency, throughput, memory and cost of each.

``rerank.py`` holds the settings, ``run.py`` leads from a configuration to the tables; ``worker.py`` measures one ranker
in a process of its own.
"""
