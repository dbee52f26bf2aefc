"""One run of a scenario after the other: the server, the instances of the operator, the processes that share the work.

Start with ``run``. ``world`` is what all runs of a simulation share, ``instances`` starts the operator again and again.
"""
