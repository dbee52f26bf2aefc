"""Where objects are kept: bytes, versions and history. Pure and synchronous; time comes in as seconds.

``store`` is the whole, ``table`` the objects of one resource, ``history`` what happened to them, ``record`` one state
of one object, ``continue_token`` where a list goes on.
"""
