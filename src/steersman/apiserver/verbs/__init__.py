"""What clients do with resources: one module for each verb and for each group of subresources.

Start with ``write_path``: every create, update, patch, apply and scale goes through its stages. ``decoding`` makes
their first value of a request's body; ``create_update``, ``patch``, ``apply`` and ``scale`` say where it comes from.
``delete`` has stages of its own, which ``evict`` uses, too. ``read`` and ``watch`` only read. ``subresources`` calls
the right one for a part of an object; ``reviews`` and ``token_requests`` answer objects that are created but not
stored.

Verbs do not wait and keep no state: one that needs a webhook is run again (``webhook_calls/replay``).
"""
