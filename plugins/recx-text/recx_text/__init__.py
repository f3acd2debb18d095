"""Sentence embeddings and cross-encoders for recx: ``encoder=sentence_transformer``, ``ranker=cross_encoder``."""
