"""An operator's manifests as files: plain YAML, a kustomize base over it, and all of it in one file."""

from typing import Final

from steersman.json_types import JsonObject
from steersman.manager.definitions import operator_definitions
from steersman.manager.operator import Operator
from steersman.protocol.manifests import dump
from steersman.scaffold.manifests.monitoring import monitoring_objects
from steersman.scaffold.manifests.permissions import permission_objects, user_role_objects
from steersman.scaffold.manifests.shape import Shape
from steersman.scaffold.manifests.webhooks import (
    address_of,
    admission_policies,
    service_objects,
    webhook_configurations,
)
from steersman.scaffold.manifests.workload import (
    budget_object,
    deployment_object,
    namespace_object,
    network_object,
    service_object,
)

#: The first line of every generated file: such a file may be replaced and removed.
HEADER: Final = "# Made by `steer` from what the operator declares: edit that.\n"


def definition_objects(operator: Operator, shape: Shape | None = None) -> list[JsonObject]:
    """Return the CRDs of an operator's custom kinds; in a cluster, webhooks convert between versions."""
    address = address_of(operator, shape) if shape is not None else None
    return [definition.content for definition in operator_definitions([operator], address)]


def parts_of(operator: Operator, shape: Shape) -> dict[str, list[JsonObject]]:
    """Return every object of a deployed operator, by the file that it belongs to, in the order of creation."""
    return {
        **{f"crds/{obj['metadata']['name']}.yaml": [obj] for obj in definition_objects(operator, shape)},
        "admission-policies.yaml": admission_policies(operator),
        "namespace.yaml": [namespace_object(operator, shape)],
        "permissions.yaml": permission_objects(operator, shape),
        "user-roles.yaml": user_role_objects(operator),
        "network-policy.yaml": [network_object(operator, shape)],
        "service.yaml": [service_object(operator, shape), *service_objects(operator, shape)],
        "disruption-budget.yaml": [budget_object(operator, shape)],
        "deployment.yaml": [deployment_object(operator, shape)],
        "monitoring.yaml": monitoring_objects(operator, shape) if shape.monitoring else [],
        # Last when applied, first when deleted: a webhook must not be called while its operator does not run.
        "webhooks.yaml": webhook_configurations(operator, shape),
    }


def all_objects(operator: Operator, shape: Shape) -> list[JsonObject]:
    """Return every object of a deployed operator, in the order of creation."""
    return [obj for objects in parts_of(operator, shape).values() for obj in objects]


def manifest_files(operator: Operator, shape: Shape) -> dict[str, str]:
    """Return the files; the same declarations always produce the same bytes."""
    parts = {name: objects for name, objects in parts_of(operator, shape).items() if objects}
    files = {name: HEADER + dump(objects) for name, objects in parts.items()}
    files["kustomization.yaml"] = HEADER + dump([_kustomization(list(parts))])
    files["install.yaml"] = HEADER + dump([obj for objects in parts.values() for obj in objects])
    return files


def _kustomization(resources: list[str]) -> JsonObject:
    return {"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization", "resources": resources}
