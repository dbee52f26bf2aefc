"""Calls to webhooks while a verb runs: where a webhook is, what it answered, and running the verb again after that."""
