"""What `make e2e-real` does, as a user would: each scenario on a fresh cluster, each step with its time.

`user` types commands and waits, `load` calls webhooks meanwhile, `fleet` is the way of a new project from nothing to a
cluster and back, `examples` deploys operators of `examples/`.
"""
