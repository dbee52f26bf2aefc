"""What an operator did and why: one typed, bounded stream that logs, metrics, ``steer why`` and the web view read.

Start with ``records``: the values, the `Reconcile` above all. ``history`` keeps the newest of them in memory,
``differences`` names the fields in which two documents differ, ``explanation`` makes a sentence and a timeline.

Everything here is pure: the clock is the caller's, nothing waits, and nothing reads an object of a cluster.
"""
