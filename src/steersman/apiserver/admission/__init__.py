"""Admission: what changes or rejects a write after it was authorized.

``chain`` is the entrance, called by ``verbs/write_path``. ``attributes`` describes a write, ``matching`` and
``conditions`` decide which webhooks and policies it concerns, ``webhooks`` calls programs outside of the server,
``mutating_policies`` and ``policies`` evaluate CEL expressions (``policy_bindings`` finds those that match),
``reinvocation`` decides which of them see a write twice, ``guards`` checks permissions that depend on the content. Only
webhooks make a request wait.
"""
