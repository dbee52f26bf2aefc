"""What an operator needs in a cluster, derived from its declarations: CRDs, RBAC, a Deployment, webhooks.

Start with `plain`, which lists the objects. `settings` validates ``[tool.steersman]`` into a `shape`; `workload`,
`permissions`, `webhooks` and `monitoring` create objects. `chart` writes a Helm chart and `bundle` an OLM bundle from
the same objects; `releases` compares the CRDs of two releases.
"""
