"""LambdaMART by LightGBM for recx: ``ranker=lambdamart``."""
