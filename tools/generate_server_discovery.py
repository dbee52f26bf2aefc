"""Write the table of built-in resources that the embedded API server serves.

Usage: python tools/generate_server_discovery.py DISCOVERY.json

The input holds the aggregated discovery documents of ``/api`` (``core``) and ``/apis`` (``groups``) of a Kubernetes API
server. Only what the server needs is kept; the output is deterministic.
"""

import json
import lzma
import sys
from pathlib import Path

from steersman.json_types import JsonObject

OUTPUT = Path(__file__).parent.parent / "src" / "steersman" / "apiserver" / "data" / "discovery.json.xz"


def _kind(response: dict[str, str], group: str, version: str) -> list[str]:
    """Return group, version and kind of a response; most have the group that serves them."""
    if response["group"] or response["version"]:
        return [response["group"], response["version"], response["kind"]]
    return [group, version, response["kind"]]


def _resource(resource: JsonObject, group: str, version: str) -> JsonObject:
    return {
        "plural": resource["resource"],
        "singular": resource["singularResource"],
        "kind": resource["responseKind"]["kind"],
        "namespaced": resource["scope"] == "Namespaced",
        "verbs": resource["verbs"],
        "shortNames": resource.get("shortNames", []),
        "categories": resource.get("categories", []),
        "subresources": [
            {
                "name": part["subresource"],
                "kind": _kind(part["responseKind"], group, version),
                "verbs": part["verbs"],
            }
            for part in resource.get("subresources", ())
        ],
    }


def _group(group: JsonObject) -> JsonObject:
    name = group["metadata"].get("name", "")
    return {
        "group": name,
        "versions": [
            {
                "version": version["version"],
                "resources": [_resource(resource, name, version["version"]) for resource in version["resources"]],
            }
            for version in group["versions"]
        ],
    }


def main() -> None:
    """Read the documents named on the command line and write the table."""
    documents = json.loads(Path(sys.argv[1]).read_text())
    groups = [_group(group) for group in (*documents["core"]["items"], *documents["groups"]["items"])]
    text = json.dumps(groups, separators=(",", ":"), sort_keys=True).encode()
    OUTPUT.parent.mkdir(parents=True, exist_ok=True)
    OUTPUT.write_bytes(lzma.compress(text, preset=9 | lzma.PRESET_EXTREME))
    print(f"{OUTPUT.name}: {len(groups)} groups, {OUTPUT.stat().st_size} bytes")


if __name__ == "__main__":
    main()
