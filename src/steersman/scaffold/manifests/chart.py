"""An operator as a Helm chart: the same objects, with the values that differ from cluster to cluster left open."""

import re
from dataclasses import replace
from typing import Any, Final

from steersman.manager.operator import Operator
from steersman.protocol.manifests import dump
from steersman.scaffold.manifests.permissions import permission_objects, user_role_objects
from steersman.scaffold.manifests.plain import HEADER, definition_objects
from steersman.scaffold.manifests.shape import Shape, name_of
from steersman.scaffold.manifests.webhooks import admission_policies, service_objects, webhook_configurations
from steersman.scaffold.manifests.workload import (
    RESOURCES,
    budget_object,
    deployment_object,
    network_object,
    service_object,
)

#: Stands for the namespace of the release while objects are made; it must be a label.
_NAMESPACE: Final = "the-namespace-of-the-release"
#: What stands in the objects for a value, and what the template says there. Those after ``toYaml`` are whole blocks.
_SCALARS: Final = {
    _NAMESPACE: "{{ .Release.Namespace }}",
    "'@image@'": "{{ .Values.image | quote }}",
    "'@replicas@'": "{{ .Values.replicas }}",
}
_BLOCK: Final = re.compile(r"^( *)([A-Za-z]+): '@values\.([A-Za-z.]+)@'$", re.MULTILINE)


def chart_files(operator: Operator, shape: Shape, *, version: str) -> dict[str, str]:
    """Give the files of the chart; names of objects are those of the operator, whatever the release is called."""
    name = name_of(operator)
    there = replace(shape, image="@image@", namespace=_NAMESPACE)
    definitions = definition_objects(operator, there)
    templates = {
        # Helm puts what lies in crds/ into no namespace: definitions that name one are templates, and are kept.
        "definitions": [_kept(obj) for obj in definitions if _is_converted(obj)],
        "admission-policies": admission_policies(operator),
        "permissions": _permissions(operator, there),
        "user-roles": user_role_objects(operator),
        "network-policy": [network_object(operator, there)],
        "service": [service_object(operator, there), *service_objects(operator, there)],
        "disruption-budget": [budget_object(operator, there)],
        "deployment": [_deployment(operator, there)],
        "webhooks": webhook_configurations(operator, there),
    }
    return {
        "Chart.yaml": HEADER + dump([_chart(name, version)]),
        "values.yaml": HEADER + dump([_values(shape)]),
        **{
            f"crds/{obj['metadata']['name']}.yaml": HEADER + dump([obj])
            for obj in definitions
            if not _is_converted(obj)
        },
        **{f"templates/{file}.yaml": HEADER + _opened(dump(objects)) for file, objects in templates.items() if objects},
    }


def _is_converted(definition: dict[str, Any]) -> bool:
    return "conversion" in definition["spec"]


def _kept(definition: dict[str, Any]) -> dict[str, Any]:
    """Let a definition stay when the release goes: its objects would go with it."""
    meta = definition["metadata"]
    annotations = {**meta.get("annotations", {}), "helm.sh/resource-policy": "keep"}
    return {**definition, "metadata": {**meta, "annotations": annotations}}


def _chart(name: str, version: str) -> dict[str, Any]:
    return {
        "apiVersion": "v2",
        "name": name,
        "description": f"The Kubernetes operator {name}.",
        "type": "application",
        "version": version,
        "appVersion": version,
    }


def _values(shape: Shape) -> dict[str, Any]:
    return {
        "image": shape.image,
        "imagePullSecrets": [],
        "replicas": shape.replicas,
        "resources": RESOURCES,
        "podAnnotations": {},
        "nodeSelector": {},
        "tolerations": [],
        "affinity": {},
        "serviceAccount": {"annotations": {}},
    }


def _permissions(operator: Operator, shape: Shape) -> list[dict[str, Any]]:
    account, *others = permission_objects(operator, shape)
    account["metadata"]["annotations"] = "@values.serviceAccount.annotations@"
    return [account, *others]


def _deployment(operator: Operator, shape: Shape) -> dict[str, Any]:
    made = deployment_object(operator, shape)
    made["spec"]["replicas"] = "@replicas@"
    template = made["spec"]["template"]
    template["metadata"]["annotations"] = "@values.podAnnotations@"
    template["spec"]["containers"][0]["resources"] = "@values.resources@"
    for field in ("imagePullSecrets", "nodeSelector", "tolerations", "affinity"):
        template["spec"][field] = f"@values.{field}@"
    return made


def _opened(text: str) -> str:
    """Put template expressions where values were left open."""
    for mark, expression in _SCALARS.items():
        text = text.replace(mark, expression)

    def block(found: re.Match[str]) -> str:
        indent, key, value = found.groups()
        return f"{indent}{key}: {{{{- toYaml .Values.{value} | nindent {len(indent) + 2} }}}}"

    return _BLOCK.sub(block, text)
