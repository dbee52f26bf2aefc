"""Sequences of operations on one object, generated from its schema: whichever way leads to a spec, the end is the same.

Start with ``simulate_operations`` in ``simulator.py``. ``sequences`` are made of specs, by the templates of
``templates``; ``player`` carries one out as a user does, and ``report`` tells what was found.
"""
