"""An operator as a bundle for the Operator Lifecycle Manager: a ClusterServiceVersion and what goes with it."""

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from steersman.json_types import JsonObject
from steersman.manager.operator import Operator
from steersman.manager.rbac import cluster_grants, grants_of, lease_rules, rules_of
from steersman.protocol.manifests import dump
from steersman.scaffold.manifests.bundle_webhooks import CERTIFICATES, webhook_definitions
from steersman.scaffold.manifests.permissions import user_role_objects
from steersman.scaffold.manifests.plain import HEADER, definition_objects
from steersman.scaffold.manifests.shape import Shape, labels_of, name_of, selector_of
from steersman.scaffold.manifests.workload import pod_template, service_object

#: One of the names that the manager recommends: candidate, fast, stable.
_CHANNEL: Final = "candidate"
_MATURITY: Final = "alpha"
#: The oldest Kubernetes that operators support.
_OLDEST: Final = "1.28.0"
_PREFIX: Final = "operators.operatorframework.io.bundle"


def bundle_files(
    operator: Operator, shape: Shape, *, version: str, samples: Sequence[JsonObject] = (), provider: str = ""
) -> dict[str, str]:
    """Return the files of the bundle; samples become the examples that consoles offer.

    Without the name of a provider it is that of the operator.
    """
    name = name_of(operator)
    # The manager grants permissions in the cluster or in its own namespace: a bundle watches all namespaces.
    everywhere = replace(shape, watch=(), webhook_secret="", webhook_certs=CERTIFICATES)
    annotations = _annotations(name)
    service = service_object(operator, everywhere)
    del service["metadata"]["namespace"]
    roles = {obj["metadata"]["name"]: obj for obj in user_role_objects(operator)}
    return {
        f"manifests/{name}.clusterserviceversion.yaml": HEADER
        + dump([_service_version(operator, everywhere, version, samples, provider)]),
        **{f"manifests/{obj['metadata']['name']}.yaml": HEADER + dump([obj]) for obj in definition_objects(operator)},
        **{f"manifests/{role}.clusterrole.yaml": HEADER + dump([obj]) for role, obj in roles.items()},
        f"manifests/{name}-metrics.service.yaml": HEADER + dump([service]),
        "metadata/annotations.yaml": HEADER + dump([{"annotations": annotations}]),
        "bundle.Dockerfile": HEADER + _dockerfile(annotations),
    }


def _annotations(name: str) -> dict[str, str]:
    return {
        f"{_PREFIX}.mediatype.v1": "registry+v1",
        f"{_PREFIX}.manifests.v1": "manifests/",
        f"{_PREFIX}.metadata.v1": "metadata/",
        f"{_PREFIX}.package.v1": name,
        f"{_PREFIX}.channels.v1": _CHANNEL,
        f"{_PREFIX}.channel.default.v1": _CHANNEL,
    }


def _dockerfile(annotations: dict[str, str]) -> str:
    labels = "".join(f"LABEL {key}={value}\n" for key, value in annotations.items())
    return f"FROM scratch\n{labels}COPY manifests /manifests/\nCOPY metadata /metadata/\n"


def _service_version(
    operator: Operator, shape: Shape, version: str, samples: Sequence[JsonObject], provider: str
) -> JsonObject:
    name = name_of(operator)
    examples = json.dumps(list(samples), indent=2)
    webhooks = webhook_definitions(operator, shape)
    return {
        "apiVersion": "operators.coreos.com/v1alpha1",
        "kind": "ClusterServiceVersion",
        "metadata": {
            "name": f"{name}.v{version}",
            "annotations": {"alm-examples": examples, "capabilities": "Basic Install"},
        },
        "spec": {
            "displayName": name,
            "description": f"The Kubernetes operator {name}.",
            "version": version,
            "maturity": _MATURITY,
            "minKubeVersion": _OLDEST,
            "provider": {"name": provider or name},
            "installModes": [
                {"type": mode, "supported": mode == "AllNamespaces"}
                for mode in ("OwnNamespace", "SingleNamespace", "MultiNamespace", "AllNamespaces")
            ],
            "customresourcedefinitions": {"owned": _owned(operator)},
            "install": {"strategy": "deployment", "spec": _install(operator, shape)},
            **({"webhookdefinitions": webhooks} if webhooks else {}),
        },
    }


def _owned(operator: Operator) -> list[JsonObject]:
    owned = []
    for definition in definition_objects(operator):
        spec = definition["spec"]
        for version in spec["versions"]:
            kind = spec["names"]["kind"]
            entry = {
                "name": definition["metadata"]["name"],
                "version": version["name"],
                "kind": kind,
                "displayName": kind,
                "description": version["schema"]["openAPIV3Schema"].get("description", kind),
            }
            owned.append(entry)
    return owned


def _install(operator: Operator, shape: Shape) -> JsonObject:
    name = name_of(operator)
    deployment = {
        "name": name,
        "label": labels_of(name),
        "spec": {
            "replicas": shape.replicas,
            "selector": {"matchLabels": selector_of(name)},
            "template": pod_template(operator, shape),
        },
    }
    # OLM cannot bind a Role in a namespace of the author's choice: limited grants are cluster-wide here.
    limited = [replace(grant, namespaces=()) for grant in grants_of(operator) if grant.namespaces]
    rules = rules_of([*cluster_grants(operator, shape.watch), *limited])
    return {
        "deployments": [deployment],
        "clusterPermissions": [{"serviceAccountName": name, "rules": rules}],
        "permissions": [{"serviceAccountName": name, "rules": lease_rules(name, shards=operator.shards)}],
    }
