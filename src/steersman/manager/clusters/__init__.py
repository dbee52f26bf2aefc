"""Operators in several clusters: a manager for each cluster, which share one event loop and one page of metrics.

``provider`` says which clusters there are, ``secrets`` finds them in a hub cluster, and ``fleet`` runs a manager in
each of them.
"""
