"""The embedded API server, for development and tests: start with ``server``, which puts its rooms together.

A request walks through them in one direction: ``http`` → ``verbs`` → ``admission`` → ``builtin`` or ``custom`` kinds →
``resources`` → ``storage``; ``watch`` sends what was stored, ``background`` controllers follow up on it, ``journal``
keeps it on a disk. Every failure is a ``status``.
"""
