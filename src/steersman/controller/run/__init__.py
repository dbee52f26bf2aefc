"""One run of a reconciler for one object: the attempt, what it works with, and what it recorded.

Start with ``attempt`` (finalizer, the author's function, status, outcome) and ``environment`` (what runs share).
"""
