"""Admission: what changes or rejects a write after it was authorized.

``chain`` is the entrance, called by ``verbs/write_path``. ``attributes`` describes a write, ``matching`` and
``conditions`` decide which webhooks and policies it concerns, ``webhooks`` calls programs outside of the server,
``policies`` evaluates CEL expressions, ``guards`` checks permissions that depend on the content. Only webhooks make a
request wait.
"""
