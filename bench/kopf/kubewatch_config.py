"""The configuration file of examples/kubewatch, for the operator that is written with kopf (kubewatch.py)."""

import asyncio
import logging
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import kopf
import yaml
from kubernetes.aio.client import ApiException

#: The name of the Watcher that comes from the file.
NAME = "config-file"
#: Seconds between looks at the file.
LOOK = 5.0
#: Where objects of a name in the file live, and whether in namespaces. Short names are those of kubectl.
RESOURCES = {
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
SHORT = {
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
log = logging.getLogger("kubewatch")


class ConfigError(Exception):
    """The file is invalid."""


async def follow_config_file(memo: kopf.Memo) -> None:
    """Apply the file as a Watcher whenever it changes; log an error if it is invalid, and keep the Watcher."""
    path = os.environ.get("KUBEWATCH_CONFIG", "")
    namespace = os.environ.get("KUBEWATCH_NAMESPACE", "default")
    seen = told = ""
    while path:
        try:
            text = await asyncio.to_thread(read, path)
            if text != seen:
                for obj in objects_of(text, namespace):
                    async with memo.discovering:
                        resource = await memo.dynamic.resources.get(api_version=obj["apiVersion"], kind=obj["kind"])
                    await resource.server_side_apply(obj, field_manager="kubewatch", force_conflicts=True)
                seen, told = text, ""
                log.info("the configuration %s is in force", path)
        except (OSError, ConfigError, ApiException) as error:
            if str(error) != told:
                told = str(error)
                log.error("the configuration %s is left as it was: %s", path, error)  # noqa: TRY400 - no traceback
        await asyncio.sleep(LOOK)


def read(path: str) -> str:
    """Read the file."""
    return Path(path).expanduser().read_text(encoding="utf-8")


def objects_of(text: str, namespace: str) -> list[dict[str, Any]]:
    """Return the Watcher of a file, and before it the Secret with its confidential values."""
    try:
        document = yaml.safe_load(text) or {}
        secrets: dict[str, str] = {}
        resources = list(resources_of(document))
        handlers = list(handlers_of(document.get("handler") or {}, secrets))
    except (yaml.YAMLError, AttributeError, TypeError, KeyError, ValueError) as error:
        raise ConfigError(f"not a configuration of kubewatch: {error}") from None
    if not resources or not handlers:
        raise ConfigError(f"the configuration names no {'handler' if resources else 'resource'}")
    metadata = {"name": NAME, "namespace": namespace}
    watcher = {
        "apiVersion": "kubewatch.example.com/v1",
        "kind": "Watcher",
        "metadata": metadata,
        "spec": {"resources": resources, "handlers": handlers},
    }
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": secrets}
    return [secret, watcher] if secrets else [watcher]


def resources_of(document: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the watched resources."""
    namespace = document.get("namespace") or ""
    selectors = {SHORT.get(key, key): value for key, value in (document.get("labelselectors") or {}).items()}
    for key, is_wanted in (document.get("resource") or {}).items():
        name = SHORT.get(key, key)
        if name not in RESOURCES:
            raise ConfigError(f"resource {key!r} is not known: name it under customresources")
        group, version, plural, namespaced = RESOURCES[name]
        if is_wanted:
            yield {
                "group": group,
                "version": version,
                "resource": plural,
                "namespace": namespace if namespaced else "",
                "labelSelector": selectors.get(name, ""),
            }
    for custom in document.get("customresources") or ():
        yield {name: custom[name] for name in ("group", "version", "resource")} | {"namespace": namespace}


def handlers_of(handlers: dict[str, Any], secrets: dict[str, str]) -> Iterator[dict[str, Any]]:
    """Yield the handlers."""
    for key, settings in handlers.items():
        if not any(value for value in (settings or {}).values() if value not in ({}, "")):
            continue
        reference = {"name": NAME, "key": key}
        match key:
            case "webhook" | "cloudevent":
                yield {"type": key, "url": settings["url"]}
            case "slackwebhook":
                secrets[key] = settings["slackwebhookurl"]
                yield {"type": key, "secretRef": reference}
            case "slack":
                secrets[key] = settings["token"]
                yield {"type": key, "channel": settings["channel"], "secretRef": reference}
            case "smtp":
                yield smtp_of(settings, secrets)
            case "message":
                continue
            case _:
                raise ConfigError(f"handler {key!r} is not known here: most services take a webhook")


def smtp_of(settings: dict[str, Any], secrets: dict[str, str]) -> dict[str, Any]:
    """Return a handler that sends mail."""
    login = settings.get("auth") or {}
    user = f"{login['username']}@" if login.get("username") else ""
    handler = {
        "type": "smtp",
        "url": f"smtp://{user}{settings['smarthost']}",
        "sender": settings["from"],
        "recipients": [address.strip() for address in settings["to"].split(",")],
    }
    if login.get("password"):
        secrets["smtp"] = login["password"]
        handler["secretRef"] = {"name": NAME, "key": "smtp"}
    return handler
