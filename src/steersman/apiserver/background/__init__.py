"""What a cluster's own controllers do for its objects, inside the server: garbage, namespaces, first objects, expiry.

Nothing here polls. Every write is told to those whom it concerns; what they have to do is done in the next turn of the
event loop, each chore in one step without waiting, in the order in which it came up: equal histories, equal results.
"""
