"""Rankers that ask a large language model: ``ranker=llm``, by any endpoint that is compatible with OpenAI's."""
