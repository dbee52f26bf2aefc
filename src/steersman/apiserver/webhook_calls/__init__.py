"""Calls to webhooks while a verb runs: addresses, replies, and running the verb again with a reply."""
