"""A cluster on disk: every write is in a journal before a client sees it, and is restored from there.

``directory`` is the place, ``database`` the file in it, ``journal`` writes what is committed, ``durable_app`` holds
answers back until then, ``kept_cluster`` is all of it in use, ``transfer`` moves a cluster as JSON lines.
"""
