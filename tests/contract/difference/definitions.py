"""Custom kinds in stories: in a namespace or in none, of one version or two, of which one is stored."""

import json
from typing import Any

from tests.contract.difference.dice import Dice
from tests.contract.difference.kinds import Kind
from tests.contract.difference.operation import GROUP
from tests.contract.difference.schemas import schema, value

Document = dict[str, Any]


class Definition:
    """The definition of things: what it says now, and what things look like.

    Its versions differ in their names, not in their schema: nobody converts.
    """

    def __init__(self, dice: Dice) -> None:
        self._dice = dice
        self._schema = schema(dice)
        self.namespaced = not dice.chance(0.2)
        self._versions = ["v1", "v2"] if dice.chance(0.35) else ["v1"]
        self._stored = dice.of(self._versions)

    def kind(self) -> Kind:
        """Give things in one of their versions."""
        return Kind(
            f"{GROUP}/{self._dice.of(self._versions)}",
            "Thing",
            "things",
            self._thing,
            namespaced=self.namespaced,
            has_status=True,
            has_scale=True,
            status=self._status,
        )

    def _thing(self, dice: Dice) -> Document:
        document = {"spec": value(dice, self._schema["properties"]["spec"])}
        if dice.chance(0.1):
            document["status"] = self._status(dice)
        if dice.chance(0.04):
            document[dice.pick("unknown", "spec", "status")] = dice.pick(1, None, "a", [])
        return document

    def _status(self, dice: Dice) -> Document:
        found: Document = value(dice, self._schema["properties"]["status"])
        return found

    def document(self) -> Document:
        """Give the definition as it is written."""
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
        self._dice.maybe(version, 0.3, selectableFields=lambda: [{"jsonPath": ".spec.replicas"}])
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
        if self._dice.chance(0.3):
            made["additionalPrinterColumns"] = [
                {"name": "Replicas", "type": "integer", "jsonPath": ".spec.replicas"},
                {"name": "Phase", "type": "string", "jsonPath": ".status.phase", "priority": 1},
            ]
        if len(self._versions) > 1 and self._dice.chance(0.15):
            made["deprecated"] = True
        return made

    def change(self) -> None:
        """Change the schema, and now and then which version is stored."""
        dice = self._dice
        self._schema = schema(dice) if dice.chance(0.5) else json.loads(json.dumps(self._schema))
        if dice.chance(0.5):
            spec = self._schema["properties"]["spec"]
            spec["properties"][dice.pick("a", "b", "n")] = {"type": dice.pick("string", "integer", "boolean")}
        if dice.chance(0.5):
            self._stored = dice.of(self._versions)
