"""Pods and pod templates. ``family.py`` lists the kinds.

`validation` covers a pod's spec as a whole and calls one module per part: containers, environment variables, probes,
security contexts, volumes, placement. `update_validation` says what may change in an existing pod, by subresource.
`strategy` has creation, subresources and graceful deletion; `admission` what LimitRanges, priority classes and runtime
classes do to pods. Workloads use `defaults`, `validation` and `warnings` for their templates.
"""
