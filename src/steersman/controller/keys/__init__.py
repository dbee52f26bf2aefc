"""What a controller remembers about each key between runs, and when the key may run.

``key_state`` has the one state object for each key. The others are rules over it: ``write_barrier`` (wait until the
caches show the key's own writes), ``self_triggers`` (echoes and hot loops), ``waits`` (``Blocked``) and
``dynamic_watches`` (``ctx.follow``).
"""
