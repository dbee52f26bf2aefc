"""The rules of a pod's life cycle on its node: start, probe, stop, restart. Pure; start with ``pod_lifecycle``."""
