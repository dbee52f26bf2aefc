"""Custom kinds in scenarios: namespaced or cluster-scoped, with one version or two, one of them stored."""

import json
from typing import Any

from tests.contract.difference.choices import Choices
from tests.contract.difference.kinds import Kind
from tests.contract.difference.operation import GROUP
from tests.contract.difference.schemas import schema, value

Document = dict[str, Any]


class Definition:
    """The CRD of the kind `Thing`: its current state, and random objects of it.

    Its versions differ only in their names, not in their schema, so no conversion is needed.
    """

    def __init__(self, rng: Choices) -> None:
        self._rng = rng
        self._schema = schema(rng)
        self.namespaced = not rng.chance(0.2)
        self._versions = ["v1", "v2"] if rng.chance(0.35) else ["v1"]
        self._stored = rng.of(self._versions)

    def kind(self) -> Kind:
        """Return the kind in one of its versions."""
        return Kind(
            f"{GROUP}/{self._rng.of(self._versions)}",
            "Thing",
            "things",
            self._thing,
            namespaced=self.namespaced,
            has_status=True,
            has_scale=True,
            status=self._status,
        )

    def _thing(self, rng: Choices) -> Document:
        document = {"spec": value(rng, self._schema["properties"]["spec"])}
        if rng.chance(0.1):
            document["status"] = self._status(rng)
        if rng.chance(0.04):
            document[rng.pick("unknown", "spec", "status")] = rng.pick(1, None, "a", [])
        return document

    def _status(self, rng: Choices) -> Document:
        found: Document = value(rng, self._schema["properties"]["status"])
        return found

    def document(self) -> Document:
        """Return the CRD as a document."""
        version: Document = {
            "served": True,
            "schema": {"openAPIV3Schema": self._schema},
            "subresources": {
                "status": {},
                "scale": {
                    "specReplicasPath": ".spec.replicas",
                    "statusReplicasPath": ".status.replicas",
                    "labelSelectorPath": ".status.selector",
                },
            },
        }
        self._rng.maybe(version, 0.3, selectableFields=lambda: [{"jsonPath": ".spec.replicas"}])
        return {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": f"things.{GROUP}"},
            "spec": {
                "group": GROUP,
                "scope": "Namespaced" if self.namespaced else "Cluster",
                "names": {"plural": "things", "kind": "Thing"},
                "versions": [self._own(name, version) for name in self._versions],
            },
        }

    def _own(self, name: str, version: Document) -> Document:
        made = {"name": name, **version, "storage": name == self._stored}
        if self._rng.chance(0.3):
            made["additionalPrinterColumns"] = [
                {"name": "Replicas", "type": "integer", "jsonPath": ".spec.replicas"},
                {"name": "Phase", "type": "string", "jsonPath": ".status.phase", "priority": 1},
            ]
        if len(self._versions) > 1 and self._rng.chance(0.15):
            made["deprecated"] = True
        return made

    def change(self) -> None:
        """Change the schema, and sometimes the storage version."""
        rng = self._rng
        self._schema = schema(rng) if rng.chance(0.5) else json.loads(json.dumps(self._schema))
        if rng.chance(0.5):
            spec = self._schema["properties"]["spec"]
            spec["properties"][rng.pick("a", "b", "n")] = {"type": rng.pick("string", "integer", "boolean")}
        if rng.chance(0.5):
            self._stored = rng.of(self._versions)
