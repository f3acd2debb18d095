"""Matrix factorisation by implicit for recx: ``retriever=als``, ``bpr`` and ``lmf``."""
