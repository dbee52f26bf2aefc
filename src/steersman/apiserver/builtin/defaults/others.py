"""Everything that is neither a pod nor makes pods."""

import base64
from typing import Any

from steersman.apiserver.builtin.pods.defaults import set_default

Document = dict[str, Any]
_RBAC = "rbac.authorization.k8s.io"


def default_service(obj: Document) -> None:
    """Fill in a Service."""
    spec = obj["spec"]
    set_default(spec, sessionAffinity="None", type="ClusterIP")
    if spec["sessionAffinity"] == "ClientIP":
        affinity = spec.get("sessionAffinityConfig") or {}
        if affinity.get("clientIP") is None:
            affinity["clientIP"] = {}
        set_default(affinity["clientIP"], timeoutSeconds=10800)
        spec["sessionAffinityConfig"] = affinity
    else:
        spec.pop("sessionAffinityConfig", None)
    for port in spec.get("ports") or ():
        set_default(port, protocol="TCP")
        if port.get("targetPort") in (None, 0, ""):
            port["targetPort"] = port["port"]
    is_external = spec["type"] in ("NodePort", "LoadBalancer") or bool(spec.get("externalIPs"))
    if is_external:
        set_default(spec, externalTrafficPolicy="Cluster")
    if spec["type"] in ("NodePort", "LoadBalancer", "ClusterIP"):
        set_default(spec, internalTrafficPolicy="Cluster")
    if spec["type"] == "LoadBalancer":
        set_default(spec, allocateLoadBalancerNodePorts=True)


def default_secret(obj: Document) -> None:
    """Fill in a Secret: text becomes data, and is not kept."""
    set_default(obj, type="Opaque")
    text = obj.pop("stringData", None)
    if text:
        encoded = {key: base64.b64encode(value.encode()).decode() for key, value in text.items()}
        obj["data"] = {**(obj.get("data") or {}), **encoded}


def default_endpoints(obj: Document) -> None:
    """Fill in the protocols of Endpoints."""
    for subset in obj.get("subsets") or ():
        for port in subset.get("ports") or ():
            set_default(port, protocol="TCP")


def default_endpoint_slice(obj: Document) -> None:
    """Fill in the ports of an EndpointSlice."""
    for port in obj.get("ports") or ():
        set_default(port, name="", protocol="TCP")


def default_volume(obj: Document) -> None:
    """Fill in a PersistentVolume."""
    spec = obj["spec"]
    set_default(spec, persistentVolumeReclaimPolicy="Retain", volumeMode="Filesystem")
    if spec.get("hostPath") is not None:
        set_default(spec["hostPath"], type="")
    if spec.get("iscsi") is not None:
        set_default(spec["iscsi"], iscsiInterface="default")
    if spec.get("rbd") is not None:
        set_default(spec["rbd"], pool="rbd", user="admin", keyring="/etc/ceph/keyring")


def default_claim(obj: Document) -> None:
    """Fill in a PersistentVolumeClaim."""
    set_default(obj["spec"], volumeMode="Filesystem")


def default_limit_range(obj: Document) -> None:
    """Fill in a LimitRange: what is not said follows from what is."""
    for item in obj["spec"].get("limits") or ():
        if item.get("type") != "Container":
            continue
        default, request = item.get("default") or {}, item.get("defaultRequest") or {}
        for name, value in (item.get("max") or {}).items():
            default.setdefault(name, value)
        for name, value in default.items():
            request.setdefault(name, value)
        for name, value in (item.get("min") or {}).items():
            request.setdefault(name, value)
        if default:
            item["default"] = default
        if request:
            item["defaultRequest"] = request


def default_storage_class(obj: Document) -> None:
    """Fill in a StorageClass."""
    set_default(obj, reclaimPolicy="Delete", volumeBindingMode="Immediate")


def default_csi_driver(obj: Document) -> None:
    """Fill in a CSIDriver."""
    set_default(
        obj["spec"],
        attachRequired=True,
        podInfoOnMount=False,
        storageCapacity=False,
        fsGroupPolicy="ReadWriteOnceWithFSType",
        volumeLifecycleModes=["Persistent"],
        requiresRepublish=False,
        seLinuxMount=False,
    )


def default_network_policy(obj: Document) -> None:
    """Fill in a NetworkPolicy."""
    spec = obj["spec"]
    for direction in ("ingress", "egress"):
        for rule in spec.get(direction) or ():
            for port in rule.get("ports") or ():
                set_default(port, protocol="TCP")
    if not spec.get("policyTypes"):
        spec["policyTypes"] = ["Ingress", *(["Egress"] if spec.get("egress") else [])]


def default_ingress(obj: Document) -> None:
    """Fill in an Ingress."""
    for rule in obj["spec"].get("rules") or ():
        for path in (rule.get("http") or {}).get("paths") or ():
            set_default(path, pathType="ImplementationSpecific")


def default_ingress_class(obj: Document) -> None:
    """Fill in an IngressClass."""
    parameters = (obj.get("spec") or {}).get("parameters")
    if parameters is not None:
        set_default(parameters, scope="Cluster")


def _default_role_reference(obj: Document) -> None:
    set_default(obj.setdefault("roleRef", {}), apiGroup=_RBAC)
    if not obj["roleRef"].get("apiGroup"):
        obj["roleRef"]["apiGroup"] = _RBAC


def default_binding(obj: Document) -> None:
    """Fill in a binding of roles."""
    _default_role_reference(obj)
    for subject in obj.get("subjects") or ():
        if subject.get("kind") in ("User", "Group") and not subject.get("apiGroup"):
            subject["apiGroup"] = _RBAC


def default_priority_class(obj: Document) -> None:
    """Fill in a PriorityClass."""
    set_default(obj, preemptionPolicy="PreemptLowerPriority")


def _default_webhook(hook: Document) -> None:
    set_default(hook, failurePolicy="Fail", matchPolicy="Equivalent", timeoutSeconds=10)
    for name in ("namespaceSelector", "objectSelector"):
        if hook.get(name) is None:
            hook[name] = {}
    for rule in hook.get("rules") or ():
        set_default(rule, scope="*")
    service = (hook.get("clientConfig") or {}).get("service")
    if service is not None:
        set_default(service, port=443)


def default_webhooks(obj: Document) -> None:
    """Fill in a ValidatingWebhookConfiguration."""
    for hook in obj.get("webhooks") or ():
        _default_webhook(hook)


def default_mutating_webhooks(obj: Document) -> None:
    """Fill in a MutatingWebhookConfiguration."""
    for hook in obj.get("webhooks") or ():
        _default_webhook(hook)
        set_default(hook, reinvocationPolicy="Never")


def _default_match(match: Document | None) -> None:
    if match is None:
        return
    set_default(match, matchPolicy="Equivalent")
    for name in ("namespaceSelector", "objectSelector"):
        if match.get(name) is None:
            match[name] = {}
    for listed in ("resourceRules", "excludeResourceRules"):
        for rule in match.get(listed) or ():
            set_default(rule, scope="*")


def default_policy(obj: Document) -> None:
    """Fill in an admission policy."""
    spec = obj["spec"]
    set_default(spec, failurePolicy="Fail")
    _default_match(spec.get("matchConstraints"))


def default_policy_binding(obj: Document) -> None:
    """Fill in a binding of an admission policy."""
    _default_match(obj["spec"].get("matchResources"))
    reference = obj["spec"].get("paramRef")
    if reference is not None:
        set_default(reference, parameterNotFoundAction="Deny")


def default_api_service(obj: Document) -> None:
    """Fill in an APIService."""
    service = (obj.get("spec") or {}).get("service")
    if service is not None:
        set_default(service, port=443)


def default_flow_schema(obj: Document) -> None:
    """Fill in a FlowSchema."""
    obj["spec"]["matchingPrecedence"] = obj["spec"].get("matchingPrecedence") or 1000


def _default_device_requests(requests: Any) -> None:
    for request in requests or ():
        exact = request.get("exactly")
        for part in [exact] if exact is not None else request.get("firstAvailable") or ():
            set_default(part, allocationMode="ExactCount")
            if part["allocationMode"] == "ExactCount":
                set_default(part, count=1)
            for toleration in part.get("tolerations") or ():
                set_default(toleration, operator="Equal")


def default_resource_claim(obj: Document) -> None:
    """Fill in a ResourceClaim."""
    _default_device_requests((obj["spec"].get("devices") or {}).get("requests"))


def default_resource_claim_template(obj: Document) -> None:
    """Fill in a ResourceClaimTemplate."""
    devices = ((obj.get("spec") or {}).get("spec") or {}).get("devices") or {}
    _default_device_requests(devices.get("requests"))
