"""Retrievers that learn on the graph of users and items for recx: ``retriever=lightgcn``."""
