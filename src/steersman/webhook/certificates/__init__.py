"""Serving certificates of webhooks: where they come from (``sources``)."""
