"""Controllers that run inside the server: garbage collection, namespaces, their first objects, expiry of Events.

Start with ``controllers``. Nothing polls: every write is passed to all controllers, which add tasks that run in the
next turn of the event loop, each in one step without waiting, in the order in which they were added. So equal
histories have equal results.
"""
