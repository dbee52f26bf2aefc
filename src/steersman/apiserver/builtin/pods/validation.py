"""Validation of pods and pod templates as a whole; their parts have modules of their own."""

from collections.abc import Callable, Sequence
from typing import Any

from steersman.apiserver.builtin.common.names import (
    address_errors,
    annotations_errors,
    label_errors,
    labels_errors,
    qualified_errors,
    search_errors,
    subdomain_errors,
)
from steersman.apiserver.builtin.common.numbers import MAX_INT32, range_errors
from steersman.apiserver.builtin.common.quantities import quantity_errors
from steersman.apiserver.builtin.pods.container_validation import (
    container_list_errors,
    ephemeral_container_errors,
    init_container_errors,
    whitespace_errors,
)
from steersman.apiserver.builtin.pods.placement_validation import affinity_errors, spread_errors, toleration_errors
from steersman.apiserver.builtin.pods.pod_resources import pod_resource_errors
from steersman.apiserver.builtin.pods.security_validation import operating_system_errors, pod_security_errors
from steersman.apiserver.builtin.pods.volume_validation import volume_errors
from steersman.json_types import JsonObject
from steersman.validation.field_errors import Errors, duplicate, forbidden, invalid, not_supported, required

_RESTART = ("Always", "OnFailure", "Never")
_DNS = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
_PREEMPTION = ("PreemptLowerPriority", "Never")
_DNS_LIMITS = (3, 32, 2048)


def _gate_errors(gates: Sequence[JsonObject], path: str) -> Errors:
    errors: Errors = []
    seen: set[str] = set()
    for index, gate in enumerate(gates):
        name = gate.get("name") or ""
        errors += qualified_errors(name, f"{path}[{index}]")
        if name in seen:
            errors.append(duplicate(f"{path}[{index}]", name))
        seen.add(name)
    return errors


def _readiness_errors(gates: Sequence[JsonObject], path: str) -> Errors:
    errors: Errors = []
    for index, gate in enumerate(gates):
        errors += qualified_errors(gate.get("conditionType") or "", f"{path}[{index}].conditionType")
    return errors


def _alias_errors(aliases: Sequence[JsonObject], path: str) -> Errors:
    errors: Errors = []
    for index, alias in enumerate(aliases):
        errors += address_errors(alias.get("ip") or "", f"{path}[{index}].ip")
        for number, name in enumerate(alias.get("hostnames") or ()):
            errors += subdomain_errors(name, f"{path}[{index}].hostnames[{number}]")
    return errors


def _overhead_errors(amounts: JsonObject, path: str) -> Errors:
    errors: Errors = []
    for name, text in amounts.items():
        errors += quantity_errors(name, text, f"{path}.limits[{name}]")
    return errors


def _preemption_errors(policy: str, path: str) -> Errors:
    return [] if policy in _PREEMPTION else [not_supported(path, policy, _PREEMPTION)]


def _deadline_errors(spec: JsonObject, path: str) -> Errors:
    return range_errors(spec["activeDeadlineSeconds"], f"{path}.activeDeadlineSeconds", 1, MAX_INT32)


#: Optional fields with their validation, in the order in which Kubernetes validates them.
_PARTS: tuple[tuple[str, Callable[[Any, str], Errors]], ...] = (
    ("nodeSelector", labels_errors),
    ("securityContext", pod_security_errors),
    ("affinity", affinity_errors),
    ("readinessGates", _readiness_errors),
    ("schedulingGates", _gate_errors),
    ("topologySpreadConstraints", spread_errors),
    ("serviceAccountName", subdomain_errors),
    ("nodeName", subdomain_errors),
    ("hostname", label_errors),
    ("subdomain", label_errors),
    ("tolerations", toleration_errors),
    ("hostAliases", _alias_errors),
    ("priorityClassName", subdomain_errors),
    ("runtimeClassName", subdomain_errors),
    ("preemptionPolicy", _preemption_errors),
    ("overhead", _overhead_errors),
)


def _dns_errors(spec: JsonObject, path: str) -> Errors:
    config, path = spec.get("dnsConfig"), f"{path}.dnsConfig"
    if config is None and spec.get("dnsPolicy") != "None":
        return []
    servers = (config or {}).get("nameservers") or []
    if spec.get("dnsPolicy") == "None":
        if config is None:
            return [required(path, "must provide `dnsConfig` when `dnsPolicy` is None")]
        if not servers:
            text = "must provide at least one DNS nameserver when `dnsPolicy` is None"
            return [required(f"{path}.nameservers", text)]
    errors: Errors = []
    if len(servers) > _DNS_LIMITS[0]:
        text = f"must not have more than {_DNS_LIMITS[0]} nameservers"
        errors.append(invalid(f"{path}.nameservers", servers, text))
    for index, server in enumerate(servers):
        errors += address_errors(server, f"{path}.nameservers[{index}]")
    return errors + _search_errors(config or {}, path)


def _search_errors(config: JsonObject, path: str) -> Errors:
    searches = config.get("searches") or []
    errors: Errors = []
    if len(searches) > _DNS_LIMITS[1]:
        errors.append(invalid(f"{path}.searches", searches, f"must not have more than {_DNS_LIMITS[1]} search paths"))
    if len(" ".join(searches)) > _DNS_LIMITS[2]:
        text = f"must not have more than {_DNS_LIMITS[2]} characters (including spaces) in the search list"
        errors.append(invalid(f"{path}.searches", searches, text))
    for index, search in enumerate(searches):
        if search != ".":
            errors += search_errors(search.removesuffix("."), f"{path}.searches[{index}]")
    errors += [
        required(f"{path}.options[{index}]", "must not be empty")
        for index, option in enumerate(config.get("options") or ())
        if not option.get("name")
    ]
    return errors


def _host_user_errors(spec: JsonObject, path: str) -> Errors:
    if spec["hostUsers"]:
        return []
    names = ("hostNetwork", "hostPID", "hostIPC")
    return [forbidden(f"{path}.{name}", "when `hostUsers` is false") for name in names if spec.get(name)]


def _choice_errors(spec: JsonObject, path: str) -> Errors:
    errors: Errors = []
    for name, allowed in (("restartPolicy", _RESTART), ("dnsPolicy", _DNS)):
        value = spec.get(name) or ""
        if not value:
            errors.append(required(f"{path}.{name}"))
        elif value not in allowed:
            errors.append(not_supported(f"{path}.{name}", value, allowed))
    return errors


def _host_errors(spec: JsonObject, path: str) -> Errors:
    """Validate a pod that uses the network or the process namespace of its node."""
    errors: Errors = []
    if spec.get("shareProcessNamespace") and spec.get("hostPID"):
        text = "ShareProcessNamespace and HostPID cannot both be enabled"
        shared = spec["shareProcessNamespace"]
        errors.append(invalid(f"{path}.securityContext.shareProcessNamespace", shared, text))
    if spec.get("hostNetwork"):
        for index, container in enumerate(spec.get("containers") or ()):
            for number, port in enumerate(container.get("ports") or ()):
                if port.get("hostPort") and port["hostPort"] != port.get("containerPort"):
                    text = "must match `containerPort` when `hostNetwork` is true"
                    field = f"{path}.containers[{index}].ports[{number}].hostPort"
                    errors.append(invalid(field, port["hostPort"], text))
    return errors


#: Optional fields whose validation needs the whole spec.
_WHOLES: tuple[tuple[str, Callable[[JsonObject, str], Errors]], ...] = (
    ("activeDeadlineSeconds", _deadline_errors),
    ("dnsPolicy", _dns_errors),
    ("os", operating_system_errors),
    ("hostUsers", _host_user_errors),
    ("resources", pod_resource_errors),
)


def _running_errors(spec: JsonObject, path: str) -> Errors:
    """Validate volumes and containers."""
    grace = spec.get("terminationGracePeriodSeconds")
    errors: Errors = [] if grace is not None else [required(f"{path}.terminationGracePeriodSeconds")]
    names: set[str] = set()
    if spec.get("volumes"):
        names, found = volume_errors(spec["volumes"], f"{path}.volumes")
        errors += found
    errors += container_list_errors(spec, names, path, grace or 0)
    if spec.get("initContainers"):
        errors += init_container_errors(spec, names, path, grace or 0)
    if spec.get("ephemeralContainers"):
        errors += ephemeral_container_errors(spec, names, path)
    return errors


def pod_spec_errors(spec: JsonObject, path: str) -> Errors:
    """Validate the spec of a pod or template."""
    errors = _running_errors(spec, path)
    if spec.get("restartPolicy") not in _RESTART or spec.get("dnsPolicy") not in _DNS:
        errors += _choice_errors(spec, path)
    if spec.get("hostNetwork") or spec.get("hostPID"):
        errors += _host_errors(spec, path)
    for name, check in _PARTS:
        value = spec.get(name)
        if value:
            errors += check(value, f"{path}.{name}")
    for name, whole_check in _WHOLES:
        if spec.get(name) is not None:
            errors += whole_check(spec, path)
    return errors


def template_errors(template: JsonObject, path: str) -> Errors:
    """Validate a pod template."""
    metadata, spec = template.get("metadata") or {}, template.get("spec") or {}
    errors = labels_errors(metadata.get("labels"), f"{path}.labels")
    errors += annotations_errors(metadata.get("annotations"), f"{path}.annotations")
    errors += pod_spec_errors(spec, f"{path}.spec")
    if spec.get("ephemeralContainers"):
        text = "ephemeral containers not allowed in pod template"
        errors.append(forbidden(f"{path}.spec.ephemeralContainers", text))
    return errors


def whole_pod_errors(spec: JsonObject) -> Errors:
    """Validate the spec of a pod, with the rules that templates are exempt from."""
    errors = pod_spec_errors(spec, "spec")
    errors += whitespace_errors(spec, "spec")
    for index, source in _tokens(spec):
        if not spec.get("serviceAccountName"):
            field = f"spec.volumes[{index[0]}].projected.sources[{index[1]}].{source}"
            errors.append(forbidden(field, "must not be specified when serviceAccountName is not set"))
    return errors


def _tokens(spec: JsonObject) -> list[tuple[tuple[int, int], str]]:
    """Return the places of service account tokens among a pod's projected volumes."""
    return [
        ((index, number), "serviceAccountToken")
        for index, volume in enumerate(spec.get("volumes") or ())
        for number, source in enumerate((volume.get("projected") or {}).get("sources") or ())
        if source.get("serviceAccountToken") is not None
    ]


def new_pod_errors(obj: JsonObject) -> Errors:
    """Validate a new pod."""
    spec = obj["spec"]
    errors = whole_pod_errors(spec)
    if spec.get("ephemeralContainers"):
        errors.append(forbidden("spec.ephemeralContainers", "cannot be set on create"))
    if spec.get("nodeName") and spec.get("schedulingGates"):
        text = "cannot be set until all schedulingGates have been cleared"
        errors.append(forbidden("spec.nodeName", text))
    return errors


def pod_template_errors(obj: JsonObject, old: JsonObject | None, subresource: str) -> Errors:
    """Validate a PodTemplate."""
    del old, subresource
    return template_errors(obj.get("template") or {}, "template")
