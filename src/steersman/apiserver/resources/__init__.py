"""What is served and how it is stored: the vocabulary of the verbs.

``catalog`` lists the resources; each is a ``served_resource`` with the ``strategy`` of its kind. ``object_store`` is
the only way to read and write objects. ``request_context`` is what every request brings along: user, time and
randomness. ``ownership`` connects resources with ``managed_fields``; the other modules are rules about metadata,
columns of tables, label selectors and JSON paths.
"""
