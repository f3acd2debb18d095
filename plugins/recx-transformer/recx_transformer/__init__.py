"""Self-attention retrievers for recx: ``retriever=transformer`` (SASRec family) and ``retriever=bert4rec``."""
