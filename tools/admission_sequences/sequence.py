"""`Sequence`: requests that are sent to a real server, in a separate namespace."""

import json
from typing import Any

from steersman.json_types import JsonObject
from tests.contract.hooks import ADDRESS, AUTHORITY

_AR = "/apis/admissionregistration.k8s.io/v1"
_KINDS = {
    "mutatingwebhookconfigurations": "MutatingWebhookConfiguration",
    "validatingwebhookconfigurations": "ValidatingWebhookConfiguration",
    "validatingadmissionpolicies": "ValidatingAdmissionPolicy",
    "validatingadmissionpolicybindings": "ValidatingAdmissionPolicyBinding",
}
SEQUENCES: list[JsonObject] = []


class Sequence:
    """A sequence of requests in a separate namespace."""

    def __init__(self, name: str, about: str) -> None:
        self.name = name
        self.space = f"ad-{name}"
        self.steps: list[JsonObject] = []
        self.cleanup: list[JsonObject] = []
        SEQUENCES.append({"name": name, "about": about, "steps": self.steps, "cleanup": self.cleanup})
        self.send("POST", "/api/v1/namespaces", {"metadata": {"name": self.space, "labels": {"team": "blue"}}})

    def send(self, method: str, path: str, body: Any = None, **headers: str) -> None:
        """Add a request; ``NS`` in a path stands for the namespace."""
        step: JsonObject = {"case": f"{method} {path}", "method": method, "path": path.replace("NS", self.space)}
        if body is not None:
            step["body"] = json.loads(json.dumps(body).replace('"NS"', f'"{self.space}"'))
        if headers:
            step["headers"] = {key.replace("_", "-"): value for key, value in headers.items()}
        self.steps.append(step)

    def configure(self, resource: str, name: str, content: JsonObject) -> None:
        """Create a configuration for this sequence only, and delete it at the end."""
        full = f"{self.name}-{name}"
        body = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": _KINDS[resource], "metadata": {"name": full}}
        self.send("POST", f"{_AR}/{resource}", {**body, **content})
        self.cleanup.append({"case": "", "method": "DELETE", "path": f"{_AR}/{resource}/{full}"})

    def hooks(self, mode: str, name: str, *hooks: JsonObject) -> None:
        """Configure webhooks."""
        self.configure(f"{mode}webhookconfigurations", name, {"webhooks": list(hooks)})

    def hook(self, target: str, *, name: str = "", rule: JsonObject | None = None, **more: Any) -> JsonObject:
        """Return a webhook for ConfigMaps of this namespace."""
        rule = rule or {}
        whole = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["*"], "resources": ["configmaps"], **rule}
        return {
            "name": name or f"{target.partition('/')[0]}.example.com",
            "clientConfig": {"url": f"{ADDRESS}/{target}", "caBundle": AUTHORITY},
            "rules": [whole],
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
            "timeoutSeconds": 2,
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": self.space}},
            **more,
        }

    def map(self, name: str, query: str = "", **content: Any) -> None:
        """Create a ConfigMap."""
        metadata = content.pop("metadata", {"name": name})
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, **content}
        self.send("POST", f"/api/v1/namespaces/NS/configmaps{query}", body)


MERGE = {"Content_Type": "application/merge-patch+json"}
