"""What an object uses of a ResourceQuota, and which quotas count it. Pure.

Names of resources are those of ``spec.hard``: ``pods``, ``requests.cpu``, ``count/deployments.apps``. An object uses
the same amounts whatever a quota limits; `usage_of` returns them all, and a quota looks at those that it has.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TypeAlias

from steersman.json_types import JsonObject
from steersman.objects.quantity import Quantity

Usage: TypeAlias = dict[str, Quantity]
Amounts: TypeAlias = Mapping[str, Quantity]

_ONE = Quantity("1")
_ZERO = Quantity("0")
#: Kinds that a quota counts by their plain name, too.
_PLAIN = frozenset(
    {
        "configmaps",
        "persistentvolumeclaims",
        "pods",
        "replicationcontrollers",
        "resourcequotas",
        "secrets",
        "services",
    }
)
#: Resources of pods that a quota limits by their plain name, too.
_REQUESTED = frozenset({"cpu", "memory", "ephemeral-storage"})
#: What every container must specify if a quota limits it.
_CONSTRAINTS = ("cpu", "limits.cpu", "limits.memory", "memory", "requests.cpu", "requests.memory")
_FINISHED = ("Succeeded", "Failed")
_STORAGE_CLASS = "storageclass.storage.k8s.io"


def usage_of(resource: str, obj: JsonObject) -> Usage:
    """Return what an object uses; ``resource`` is its stored name, such as ``pods`` or ``deployments.apps``."""
    usage: Usage = {f"count/{resource}": _ONE}
    if resource in _PLAIN and not (resource == "pods" and _is_finished(obj)):
        usage[resource] = _ONE
    measure = _MEASURES.get(resource)
    if measure is not None:
        usage |= measure(obj)
    return usage


def total(usages: Iterable[Amounts]) -> Usage:
    """Return the sum of several usages."""
    result: Usage = {}
    for usage in usages:
        for name, amount in usage.items():
            result[name] = result[name] + amount if name in result else amount
    return result


def is_counted_again(resource: str) -> bool:
    """Return whether an update can change what an object of a resource uses."""
    return resource in _MEASURES


# Services and claims.


def _service_usage(service: JsonObject) -> Usage:
    spec = service.get("spec") or {}
    kind, ports = spec.get("type"), len(spec.get("ports") or ())
    has_ports = kind == "NodePort" or (kind == "LoadBalancer" and spec.get("allocateLoadBalancerNodePorts", True))
    return {
        "services.nodeports": Quantity(str(ports if has_ports else 0)),
        "services.loadbalancers": _ONE if kind == "LoadBalancer" else _ZERO,
    }


def _claim_usage(claim: JsonObject) -> Usage:
    spec = claim.get("spec") or {}
    size = Quantity(((spec.get("resources") or {}).get("requests") or {}).get("storage") or "0")
    usage = {"requests.storage": size}
    if name := spec.get("storageClassName"):
        usage[f"{name}.{_STORAGE_CLASS}/persistentvolumeclaims"] = _ONE
        usage[f"{name}.{_STORAGE_CLASS}/requests.storage"] = size
    return usage


# Pods.


def _is_finished(pod: JsonObject) -> bool:
    return (pod.get("status") or {}).get("phase") in _FINISHED


def _pod_usage(pod: JsonObject) -> Usage:
    if _is_finished(pod):
        return {}
    spec = pod.get("spec") or {}
    usage: Usage = {}
    for name, amount in _pod_amounts(spec, "requests").items():
        usage[f"requests.{name}"] = amount
        if name in _REQUESTED:
            usage[name] = amount
    for name, amount in _pod_amounts(spec, "limits").items():
        usage[f"limits.{name}"] = amount
    return usage


def _pod_amounts(spec: JsonObject, part: str) -> Usage:
    """Return the requests or limits of a pod: of all containers together, or of a larger one that runs before them."""
    own = _amounts(spec, part)
    if own:
        return own
    always: Usage = {}
    peak: Usage = {}
    for container in spec.get("initContainers") or ():
        if container.get("restartPolicy") == "Always":
            always = total([always, _amounts(container, part)])
            peak = _largest(peak, always)
        else:
            peak = _largest(peak, total([always, _amounts(container, part)]))
    together = total([always, *(_amounts(container, part) for container in spec.get("containers") or ())])
    found = _largest(together, peak)
    overhead = {name: Quantity(text) for name, text in (spec.get("overhead") or {}).items()}
    return total([found, {name: amount for name, amount in overhead.items() if part == "requests" or name in found}])


def _amounts(owner: JsonObject, part: str) -> Usage:
    return {name: Quantity(text) for name, text in ((owner.get("resources") or {}).get(part) or {}).items()}


def _largest(one: Usage, other: Usage) -> Usage:
    result = dict(one)
    for name, amount in other.items():
        if name not in result or amount.value > result[name].value:
            result[name] = amount
    return result


_MEASURES: dict[str, Callable[[JsonObject], Usage]] = {
    "services": _service_usage,
    "persistentvolumeclaims": _claim_usage,
    "pods": _pod_usage,
}


def missing_constraints(pod: JsonObject, hard: Iterable[str]) -> str:
    """Return which containers lack what a quota limits, such as ``requests.cpu for: main``; empty if none does."""
    spec = pod.get("spec") or {}
    if spec.get("resources"):
        return ""
    containers = [*(spec.get("containers") or ()), *(spec.get("initContainers") or ())]
    found = []
    for limited in sorted(set(hard).intersection(_CONSTRAINTS)):
        part, _, name = limited.rpartition(".")
        lacking = [one.get("name", "") for one in containers if name not in _amounts(one, part or "requests")]
        if lacking:
            found.append(f"{limited} for: {','.join(sorted(lacking))}")
    return "; ".join(found)


# Scopes.


def is_in_scope(quota: JsonObject, resource: str, obj: JsonObject, *, is_best_effort: bool) -> bool:
    """Return whether a quota counts an object; a quota with scopes counts only pods."""
    needs = list(_needs(quota.get("spec") or {}))
    if not needs:
        return True
    if resource != "pods":
        return False
    return all(_meets(need, obj.get("spec") or {}, is_best_effort=is_best_effort) for need in needs)


def _needs(spec: JsonObject) -> Iterator[JsonObject]:
    for scope in spec.get("scopes") or ():
        yield {"scopeName": scope, "operator": "Exists"}
    yield from (spec.get("scopeSelector") or {}).get("matchExpressions") or ()


def _meets(need: JsonObject, spec: JsonObject, *, is_best_effort: bool) -> bool:
    match need["scopeName"]:
        case "Terminating":
            return spec.get("activeDeadlineSeconds") is not None
        case "NotTerminating":
            return spec.get("activeDeadlineSeconds") is None
        case "BestEffort":
            return is_best_effort
        case "NotBestEffort":
            return not is_best_effort
        case "PriorityClass":
            return _has_priority(need, spec.get("priorityClassName") or "")
        case "CrossNamespacePodAffinity":
            return _crosses_namespaces(spec.get("affinity") or {})
        case _:
            return False


def _has_priority(need: JsonObject, name: str) -> bool:
    match need.get("operator"):
        case "In":
            return name in (need.get("values") or ())
        case "NotIn":
            return bool(name) and name not in (need.get("values") or ())
        case "DoesNotExist":
            return not name
        case _:
            return bool(name)


def _crosses_namespaces(affinity: JsonObject) -> bool:
    terms: list[JsonObject] = []
    for kind in ("podAffinity", "podAntiAffinity"):
        rules = affinity.get(kind) or {}
        terms += rules.get("requiredDuringSchedulingIgnoredDuringExecution") or []
        weighted = rules.get("preferredDuringSchedulingIgnoredDuringExecution") or []
        terms += [item.get("podAffinityTerm") or {} for item in weighted]
    return any(term.get("namespaces") or term.get("namespaceSelector") is not None for term in terms)
