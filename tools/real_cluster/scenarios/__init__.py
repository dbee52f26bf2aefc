"""What `make e2e-real` does, as a user would: each scenario on a fresh cluster, each step with its time.

`user` types commands and waits, `load` calls webhooks meanwhile, `guide` types the guide, `fleet` is the way of a new
project from nothing to a cluster and back, with losses on the way, `failures` is deployments that fail, `why` asks a
deployed operator what it does, `operations` is shards, pauses and tokens that expire, `packaging` is helm and other
readers of what `steer` writes, and `examples` deploys operators of `examples/`.
"""
