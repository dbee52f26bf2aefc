"""Custom resources in two versions with a conversion webhook."""

from steersman.json_types import JsonObject
from tests.contract.hooks import ADDRESS, AUTHORITY
from tools.admission_sequences.sequence import MERGE, Sequence


def definition(group: str, path: str | None) -> JsonObject:
    """Return the CRD of things, with a conversion webhook at a path."""
    schema = {
        "type": "object",
        "properties": {
            "spec": {
                "type": "object",
                "properties": {
                    "size": {"type": "integer", "maximum": 9},
                    "extra": {"type": "integer"},
                    "color": {"type": "string", "default": "red"},
                    "host": {"type": "string"},
                    "port": {"type": "integer"},
                    "address": {"type": "string"},
                },
            },
            "status": {"type": "object", "properties": {"ready": {"type": "boolean"}}},
        },
    }
    versions = [
        {
            "name": name,
            "served": True,
            "storage": name == "v1",
            "schema": {"openAPIV3Schema": schema},
            "subresources": {"status": {}},
        }
        for name in ("v1", "v2")
    ]
    names = {"plural": "things", "singular": "thing", "kind": "Thing", "listKind": "ThingList"}
    spec: JsonObject = {"group": group, "scope": "Namespaced", "names": names, "versions": versions}
    if path is not None:
        webhook = {
            "conversionReviewVersions": ["v1"],
            "clientConfig": {"url": f"{ADDRESS}/{path}", "caBundle": AUTHORITY},
        }
        spec["conversion"] = {"strategy": "Webhook", "webhook": webhook}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"things.{group}"},
        "spec": spec,
    }


def build() -> None:
    """Register all sequences of this module."""
    failures = ["fail", "fail-silently", "lose", "rename", "relabel", "wrong-version", "wrong-uid"]
    for path in ["convert", *[f"convert-{name}" for name in failures], "status-500", "no-json", "refused"]:
        sequence = Sequence(f"conversion-{path}", "Custom resources that a webhook converts.")
        group = f"{sequence.space}.example.com"
        defined = definition(group, path)
        if path == "refused":
            defined["spec"]["conversion"]["webhook"]["clientConfig"]["url"] = "https://127.0.0.1:1/x"
        sequence.send("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", defined)
        crd = f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/things.{group}"
        sequence.cleanup.append({"case": "", "method": "DELETE", "path": crd})
        v1, v2 = f"/apis/{group}/v1/namespaces/NS/things", f"/apis/{group}/v2/namespaces/NS/things"
        sequence.send("POST", v1, _thing(group, "v1", "a", {"host": "h", "port": 1}))
        sequence.send("GET", f"{v2}/a")
        sequence.send("POST", v2, _thing(group, "v2", "b", {"address": "x:2"}))
        if path not in ("convert", "convert-relabel"):
            sequence.send("GET", v2)
            continue
        sequence.send("GET", f"{v1}/b")
        sequence.send("GET", v2)
        sequence.send("GET", v1)
        sequence.send("PUT", f"{v2}/b", _thing(group, "v2", "b", {"address": "x:3"}))
        sequence.send("PATCH", f"{v2}/b", {"spec": {"address": "y:4"}}, **MERGE)
        sequence.send("PATCH", f"{v2}/b/status", {"status": {"ready": True}}, **MERGE)
        apply = {**_thing(group, "v2", "c", {"address": "z:5"})}
        sequence.send("PATCH", f"{v2}/c?fieldManager=me", apply, Content_Type="application/apply-patch+yaml")
        sequence.send("PATCH", f"{v2}/c?fieldManager=me", apply, Content_Type="application/apply-patch+yaml")
        apply = {**_thing(group, "v1", "c", {"port": 6})}
        sequence.send("PATCH", f"{v1}/c?fieldManager=other", apply, Content_Type="application/apply-patch+yaml")
        sequence.send("POST", f"{v2}?dryRun=All", _thing(group, "v2", "d", {"address": "x:2"}))
        sequence.send("GET", f"{v2}?watch=true&timeoutSeconds=1")
        sequence.send("GET", v2, Accept="application/json;as=Table;v=v1;g=meta.k8s.io,application/json")
        sequence.send("DELETE", f"{v2}/b")
        sequence.send("DELETE", v2)


def _thing(group: str, version: str, name: str, spec: JsonObject) -> JsonObject:
    return {"apiVersion": f"{group}/{version}", "kind": "Thing", "metadata": {"name": name}, "spec": spec}
