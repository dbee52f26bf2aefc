"""A real single-node Kubernetes cluster in namespaces of its own, for tests of deployed operators.

`parts` builds and caches what it is made of, `supervisor` starts it and removes every trace of it, `node` is the first
process inside of its namespaces and starts the programs that `services` configures. `scenarios` are what
`make e2e-real` does with it.
"""
