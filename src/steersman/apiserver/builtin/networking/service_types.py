"""What a Service's type implies: no address, reachability from outside, a health check port."""

from steersman.json_types import JsonObject

EXTERNAL_TYPES = ("NodePort", "LoadBalancer")
HEADLESS_ADDRESS = "None"


def is_headless(spec: JsonObject) -> bool:
    """Return whether a Service is headless: without an address on purpose."""
    return bool(spec.get("clusterIPs") == [HEADLESS_ADDRESS])


def is_external(spec: JsonObject) -> bool:
    """Return whether a Service is reachable from outside the cluster."""
    return spec.get("type") in EXTERNAL_TYPES or (spec.get("type") == "ClusterIP" and bool(spec.get("externalIPs")))


def needs_health_check(spec: JsonObject) -> bool:
    """Return whether load balancers need a node port that reports which nodes run a pod of the Service."""
    return spec.get("type") == "LoadBalancer" and spec.get("externalTrafficPolicy") == "Local"
