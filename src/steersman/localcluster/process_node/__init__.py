"""A node that runs pods as processes of this machine, for development and tests: no containers, no images, no root.

Start with `node` (all pods of the node) and `pod_runner` (one pod). ``lifecycle/`` decides what happens next, as pure
rules; ``containers/``, ``files/`` and ``processes/`` carry it out; ``remote/`` serves logs, exec and port-forward.
`node_services` is what the pods of a node share, `faults` is for tests.
"""
