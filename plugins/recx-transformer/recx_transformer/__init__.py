"""A causal self-attention retriever (SASRec family) for recx: ``retriever=transformer``."""
