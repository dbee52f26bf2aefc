"""Between an operator and the API server: requests, watches and webhook calls are recorded, and faults strike.

Start with ``connection``. ``watch`` and ``webhooks`` do the same for streams of events and for calls in the other
direction, ``user`` is the connection of the scenario, at which no fault strikes.
"""
