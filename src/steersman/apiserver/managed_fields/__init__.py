"""Owners of fields: managedFields and server-side apply, as pure functions.

A change flows ``entries`` (the list in the object) → ``updater`` (create, update, apply) → ``compare``, ``merge`` and
``prune`` (what happens to values, guided by ``field_types``) → ``field_set`` (what happens to ownership) → ``entries``.
Nothing here knows time, storage or HTTP; failures are the API errors that the client shall see.
"""
