"""An operator as a Helm chart: the same objects, with the values that differ from cluster to cluster left open.

Objects are made with marks where a value belongs, written as YAML, and the marks become template expressions. Braces
that stand in the objects themselves, in descriptions and in alerts, are escaped before: Helm would evaluate them.
"""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from steersman.json_types import JsonObject
from steersman.manager.operator import Operator
from steersman.protocol.manifests import dump
from steersman.scaffold.manifests.monitoring import monitoring_objects
from steersman.scaffold.manifests.permissions import permission_objects, user_role_objects
from steersman.scaffold.manifests.plain import HEADER, definition_objects
from steersman.scaffold.manifests.shape import Shape, name_of
from steersman.scaffold.manifests.webhooks import admission_policies, service_objects, webhook_configurations
from steersman.scaffold.manifests.workload import (
    budget_object,
    deployment_object,
    mounts_of,
    network_object,
    service_object,
    volumes_of,
)

#: Stands for the namespace of the release while objects are made; it must be a label.
_NAMESPACE: Final = "the-namespace-of-the-release"
#: A placeholder in the objects, and the template expression that replaces it.
_SCALARS: Final = {
    _NAMESPACE: "{{ .Release.Namespace }}",
    "'@image@'": "{{ .Values.image | quote }}",
    "'@replicas@'": "{{ .Values.replicas }}",
    "'@termination@'": "{{ .Values.terminationGracePeriodSeconds }}",
}
#: A field whose value is one of the chart's.
_BLOCK: Final = re.compile(r"^( *)([A-Za-z]+): '@values\.([A-Za-z.]+)@'$", re.MULTILINE)
#: The end of an array, to which those of a value are added.
_MORE: Final = re.compile(r"^( *)- '@more\.([A-Za-z.]+)@'$", re.MULTILINE)
#: Fields of the shape that are values of the chart, and so are not part of the objects.
_OPEN: Final[Mapping[str, Any]] = {
    "args": (),
    "env": (),
    "env_from": (),
    "node_selector": {},
    "tolerations": (),
    "image_pull_secrets": (),
    "volumes": {},
}


def chart_files(operator: Operator, shape: Shape, *, version: str) -> dict[str, str]:
    """Return the files of the chart; names of objects are those of the operator, whatever the name of the release."""
    name = name_of(operator)
    there = replace(shape, image="@image@", namespace=_NAMESPACE, **_OPEN)
    definitions = definition_objects(operator, there)
    templates = {
        # Helm puts files of crds/ into no namespace: CRDs that name one are templates, and are kept.
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
    monitoring = _opened(dump(monitoring_objects(operator, there)))
    return {
        "Chart.yaml": HEADER + dump([_chart(name, version)]),
        "values.yaml": HEADER + dump([_values(shape)]),
        **{
            f"crds/{obj['metadata']['name']}.yaml": HEADER + dump([obj])
            for obj in definitions
            if not _is_converted(obj)
        },
        **{f"templates/{file}.yaml": HEADER + _opened(dump(objects)) for file, objects in templates.items() if objects},
        "templates/monitoring.yaml": f"{HEADER}{{{{- if .Values.monitoring.enabled }}}}\n{monitoring}{{{{- end }}}}\n",
    }


def _is_converted(definition: JsonObject) -> bool:
    return "conversion" in definition["spec"]


def _kept(definition: JsonObject) -> JsonObject:
    """Return a CRD that stays when the release is deleted: its objects would be deleted with it."""
    meta = definition["metadata"]
    annotations = {**meta.get("annotations", {}), "helm.sh/resource-policy": "keep"}
    return {**definition, "metadata": {**meta, "annotations": annotations}}


def _chart(name: str, version: str) -> JsonObject:
    return {
        "apiVersion": "v2",
        "name": name,
        "description": f"The Kubernetes operator {name}.",
        "type": "application",
        "version": version,
        "appVersion": version,
    }


def _values(shape: Shape) -> JsonObject:
    return {
        "image": shape.image,
        "imagePullSecrets": list(shape.image_pull_secrets),
        "replicas": shape.replicas,
        "args": list(shape.args),
        "env": list(shape.env),
        "envFrom": list(shape.env_from),
        "resources": {part: dict(amounts) for part, amounts in shape.resources.items()},
        "volumes": volumes_of(shape),
        "volumeMounts": mounts_of(shape),
        "podAnnotations": {},
        "nodeSelector": dict(shape.node_selector),
        "tolerations": list(shape.tolerations),
        "affinity": {},
        "terminationGracePeriodSeconds": shape.termination_seconds,
        "serviceAccount": {"annotations": {}},
        "monitoring": {"enabled": shape.monitoring},
    }


def _permissions(operator: Operator, shape: Shape) -> list[JsonObject]:
    account, *others = permission_objects(operator, shape)
    account["metadata"]["annotations"] = "@values.serviceAccount.annotations@"
    return [account, *others]


def _deployment(operator: Operator, shape: Shape) -> JsonObject:
    made = deployment_object(operator, shape)
    made["spec"]["replicas"] = "@replicas@"
    template = made["spec"]["template"]
    template["metadata"]["annotations"] = "@values.podAnnotations@"
    pod, [container] = template["spec"], template["spec"]["containers"]
    # Volumes are values: there may be claims among them.
    pod["securityContext"]["fsGroup"] = pod["securityContext"]["runAsGroup"]
    pod["terminationGracePeriodSeconds"] = "@termination@"
    for field in ("imagePullSecrets", "nodeSelector", "tolerations", "affinity"):
        pod[field] = f"@values.{field}@"
    for field in ("env", "envFrom", "resources"):
        container[field] = f"@values.{field}@"
    container["args"].append("@more.args@")
    container["volumeMounts"].append("@more.volumeMounts@")
    pod["volumes"].append("@more.volumes@")
    return made


def _opened(text: str) -> str:
    """Replace placeholders by template expressions."""
    text = text.replace("{{", '{{ "{{" }}')
    for mark, expression in _SCALARS.items():
        text = text.replace(mark, expression)

    def block(found: re.Match[str]) -> str:
        indent, key, value = found.groups()
        return f"{indent}{key}: {{{{- toYaml .Values.{value} | nindent {len(indent) + 2} }}}}"

    def more(found: re.Match[str]) -> str:
        indent, value = found.groups()
        return f"{indent}{{{{- with .Values.{value} }}}}{{{{ toYaml . | nindent {len(indent)} }}}}{{{{- end }}}}"

    return _MORE.sub(more, _BLOCK.sub(block, text))
