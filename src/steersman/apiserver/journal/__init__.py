"""A cluster on a disk: every write in a journal before anybody hears of it, and the way back from there.

``directory`` is the place, ``database`` the file in it, ``journal`` writes what is committed, ``durable_app`` holds
answers back until then, ``kept_cluster`` is all of it in use, ``transfer`` moves a cluster as JSON lines.
"""
