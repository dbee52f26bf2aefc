"""Services, Endpoints, EndpointSlices, Ingresses, NetworkPolicies and ServiceCIDRs. ``family.py`` lists the kinds.

For Services, `services` has defaults and what an update keeps, `service_allocation` assigns addresses and node ports,
`service_validation` rejects what is wrong or must not change (such as ``spec.clusterIP``).
"""
