"""Webhooks of an operator: what authors declare, how reviews are answered, served and registered.

``declaration`` and ``declarations`` are the author's side (``operator.validate``, ``operator.default``,
``operator.rule``), ``admission`` is what their functions are called with. ``operator_webhooks`` puts it together at run
time: it mounts handlers of ``reviews`` on the routes of ``serving``, with ``certificates`` for TLS, and registers them
with the API server by ``registration``. It depends on `WebhookOwner`, not on the operator.
"""
