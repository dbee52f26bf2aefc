"""Admission: who else has a say in a write, after its author was found to be allowed to make it.

``attributes`` is what they are told, ``matching`` and ``conditions`` say whom a request concerns, ``webhooks`` asks
programs outside (``targets``, ``reviews``), ``policies`` evaluates expressions, ``guards`` are the rules of the server
itself. ``chain`` has them all in their order; only webhooks make a request wait.
"""
