"""The controllers of Kubernetes' own workloads, each an ordinary operator.

A controller is a `reconciler` that reads objects, asks pure modules (`plan`, `rolling`, `counts` …) what to do, and
writes. `claiming` adopts and releases objects by their selector, `pods` has the rules about pods that all share,
`template_hash` names revisions.
"""
