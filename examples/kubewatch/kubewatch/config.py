"""Convert a configuration file of the original kubewatch to a Watcher and a Secret: pure functions."""

from collections.abc import Iterator, Mapping
from typing import Any

import yaml
from steersman import meta
from steersman.errors import ConfigError
from steersman.kinds.core_v1 import Secret

from kubewatch.api.watcher_v1 import Handler, SecretRef, WatchedResource, Watcher, WatcherSpec

#: Group, version, plural and whether namespaced, keyed by the name in the file. Short names are those of kubectl.
_RESOURCES: dict[str, tuple[str, str, str, bool]] = {
    "deployment": ("apps", "v1", "deployments", True),
    "replicationcontroller": ("", "v1", "replicationcontrollers", True),
    "replicaset": ("apps", "v1", "replicasets", True),
    "daemonset": ("apps", "v1", "daemonsets", True),
    "statefulset": ("apps", "v1", "statefulsets", True),
    "services": ("", "v1", "services", True),
    "pod": ("", "v1", "pods", True),
    "job": ("batch", "v1", "jobs", True),
    "node": ("", "v1", "nodes", False),
    "clusterrole": ("rbac.authorization.k8s.io", "v1", "clusterroles", False),
    "clusterrolebinding": ("rbac.authorization.k8s.io", "v1", "clusterrolebindings", False),
    "serviceaccount": ("", "v1", "serviceaccounts", True),
    "persistentvolume": ("", "v1", "persistentvolumes", False),
    "namespace": ("", "v1", "namespaces", False),
    "secret": ("", "v1", "secrets", True),
    "configmap": ("", "v1", "configmaps", True),
    "ingress": ("networking.k8s.io", "v1", "ingresses", True),
    "hpa": ("autoscaling", "v2", "horizontalpodautoscalers", True),
    "event": ("events.k8s.io", "v1", "events", True),
    "coreevent": ("", "v1", "events", True),
}
_SHORT = {
    "rc": "replicationcontroller",
    "rs": "replicaset",
    "ds": "daemonset",
    "svc": "services",
    "po": "pod",
    "sa": "serviceaccount",
    "pv": "persistentvolume",
    "ns": "namespace",
    "ing": "ingress",
}

Settings = Mapping[str, Any]


def objects_of(text: str, name: str, namespace: str) -> list[Secret | Watcher]:
    """Return the Watcher of a file, and before it the Secret with its confidential values."""
    try:
        document = yaml.safe_load(text) or {}
        secrets: dict[str, str] = {}
        resources = list(_resources(document))
        handlers = list(_handlers(document.get("handler") or {}, name, secrets))
    except (yaml.YAMLError, AttributeError, TypeError, KeyError, ValueError) as error:
        raise ConfigError(f"invalid configuration of kubewatch: {error}") from None
    if not resources or not handlers:
        raise ConfigError(f"the configuration has no {'handler' if resources else 'resource'}")
    watcher = Watcher(meta(name, namespace=namespace), WatcherSpec(resources=resources, handlers=handlers))
    if not secrets:
        return [watcher]
    return [Secret(meta(name, namespace=namespace), string_data=secrets), watcher]


def _resources(document: Settings) -> Iterator[WatchedResource]:
    namespace = document.get("namespace") or ""
    selectors = {_SHORT.get(key, key): value for key, value in (document.get("labelselectors") or {}).items()}
    for key, is_wanted in (document.get("resource") or {}).items():
        name = _SHORT.get(key, key)
        if name not in _RESOURCES:
            raise ConfigError(f"unknown resource {key!r}: add it to customresources")
        group, version, plural, namespaced = _RESOURCES[name]
        if is_wanted:
            yield WatchedResource(
                group=group,
                version=version,
                resource=plural,
                namespace=namespace if namespaced else "",
                label_selector=selectors.get(name, ""),
            )
    for custom in document.get("customresources") or ():
        yield WatchedResource(
            group=custom["group"], version=custom["version"], resource=custom["resource"], namespace=namespace
        )


def _handlers(handlers: Settings, name: str, secrets: dict[str, str]) -> Iterator[Handler]:
    for key, settings in handlers.items():
        if not any(value for value in (settings or {}).values() if value not in ({}, "")):
            continue
        match key:
            case "webhook" | "cloudevent":
                yield Handler(type=key, url=settings["url"])
            case "slackwebhook":
                secrets[key] = settings["slackwebhookurl"]
                yield Handler(type=key, secret_ref=SecretRef(name=name, key=key))
            case "slack":
                secrets[key] = settings["token"]
                yield Handler(type=key, channel=settings["channel"], secret_ref=SecretRef(name=name, key=key))
            case "smtp":
                yield _smtp(settings, name, secrets)
            case "message":
                continue
            case _:
                raise ConfigError(f"unknown handler {key!r}: most services accept a webhook")


def _smtp(settings: Settings, name: str, secrets: dict[str, str]) -> Handler:
    login: Settings = settings.get("auth") or {}
    reference = None
    if login.get("password"):
        secrets["smtp"] = login["password"]
        reference = SecretRef(name=name, key="smtp")
    user = f"{login['username']}@" if login.get("username") else ""
    return Handler(
        type="smtp",
        url=f"smtp://{user}{settings['smarthost']}",
        sender=settings["from"],
        recipients=[address.strip() for address in settings["to"].split(",")],
        secret_ref=reference,
    )
