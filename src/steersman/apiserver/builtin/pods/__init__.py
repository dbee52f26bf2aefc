"""Pods and pod templates. ``family.py`` lists the kinds.

`validation` covers a pod's spec as a whole and calls one module per part: containers, environment variables, probes,
security contexts, volumes, placement. `update_validation` says what may change in an existing pod, by subresource.
`strategy` is what admission and deletion do to pods, with `limit_ranges` and `quality_of_service`. Workloads use
`defaults`, `validation` and `warnings` for their templates.
"""
