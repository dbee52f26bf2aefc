"""The rules of a pod's life on its node: start, probe, stop, restart. Pure; start with ``pod_life``."""
