"""Custom resources in two versions, between which a webhook converts."""

from typing import Any

from tests.contract.hooks import ADDRESS, AUTHORITY
from tools.admission_sequences.story import MERGE, Sequence

Document = dict[str, Any]


def definition(group: str, path: str | None) -> Document:
    """Return the definition of things; a webhook at the path converts them."""
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
    spec: Document = {"group": group, "scope": "Namespaced", "names": names, "versions": versions}
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
    """Tell every story."""
    failures = ["fail", "fail-silently", "lose", "rename", "relabel", "wrong-version", "wrong-uid"]
    for path in ["convert", *[f"convert-{name}" for name in failures], "status-500", "no-json", "refused"]:
        story = Sequence(f"conversion-{path}", "Custom resources that a webhook converts.")
        group = f"{story.space}.example.com"
        defined = definition(group, path)
        if path == "refused":
            defined["spec"]["conversion"]["webhook"]["clientConfig"]["url"] = "https://127.0.0.1:1/x"
        story.send("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", defined)
        crd = f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/things.{group}"
        story.cleanup.append({"case": "", "method": "DELETE", "path": crd})
        v1, v2 = f"/apis/{group}/v1/namespaces/NS/things", f"/apis/{group}/v2/namespaces/NS/things"
        story.send("POST", v1, _thing(group, "v1", "a", {"host": "h", "port": 1}))
        story.send("GET", f"{v2}/a")
        story.send("POST", v2, _thing(group, "v2", "b", {"address": "x:2"}))
        if path not in ("convert", "convert-relabel"):
            story.send("GET", v2)
            continue
        story.send("GET", f"{v1}/b")
        story.send("GET", v2)
        story.send("GET", v1)
        story.send("PUT", f"{v2}/b", _thing(group, "v2", "b", {"address": "x:3"}))
        story.send("PATCH", f"{v2}/b", {"spec": {"address": "y:4"}}, **MERGE)
        story.send("PATCH", f"{v2}/b/status", {"status": {"ready": True}}, **MERGE)
        apply = {**_thing(group, "v2", "c", {"address": "z:5"})}
        story.send("PATCH", f"{v2}/c?fieldManager=me", apply, Content_Type="application/apply-patch+yaml")
        story.send("PATCH", f"{v2}/c?fieldManager=me", apply, Content_Type="application/apply-patch+yaml")
        apply = {**_thing(group, "v1", "c", {"port": 6})}
        story.send("PATCH", f"{v1}/c?fieldManager=other", apply, Content_Type="application/apply-patch+yaml")
        story.send("POST", f"{v2}?dryRun=All", _thing(group, "v2", "d", {"address": "x:2"}))
        story.send("GET", f"{v2}?watch=true&timeoutSeconds=1")
        story.send("GET", v2, Accept="application/json;as=Table;v=v1;g=meta.k8s.io,application/json")
        story.send("DELETE", f"{v2}/b")
        story.send("DELETE", v2)


def _thing(group: str, version: str, name: str, spec: Document) -> Document:
    return {"apiVersion": f"{group}/{version}", "kind": "Thing", "metadata": {"name": name}, "spec": spec}
