"""Write ``apiserver/data/rbac.json.xz``: the default roles and bindings of a cluster.

Run it as ``python -m tools.control_plane run -- python -m tools.generate_server_rbac``: without controllers, so that
aggregated roles are still empty.
"""

import json
import lzma
import subprocess
from pathlib import Path

from steersman.json_types import JsonObject

TARGET = Path(__file__).parent.parent / "src" / "steersman" / "apiserver" / "data" / "rbac.json.xz"
RESOURCES = ("clusterroles", "roles", "clusterrolebindings", "rolebindings")


def _object(item: JsonObject) -> JsonObject:
    """Return an object without generated metadata and without the times of its field owners."""
    made = ("uid", "resourceVersion", "creationTimestamp")
    metadata = {key: value for key, value in item["metadata"].items() if key not in made}
    for entry in metadata["managedFields"]:
        del entry["time"]
    return {**item, "metadata": metadata}


def main() -> None:
    """Read everything from the server of ``KUBECONFIG``."""
    found = {}
    for resource in RESOURCES:
        path = f"/apis/rbac.authorization.k8s.io/v1/{resource}"
        listed = subprocess.run(  # noqa: S603 - a tool
            ["kubectl", "get", "--raw", path],  # noqa: S607 - the one of the control plane
            check=True,
            capture_output=True,
        ).stdout
        items = sorted(json.loads(listed)["items"], key=lambda item: int(item["metadata"]["resourceVersion"]))
        found[resource] = [_object(item) for item in items]
    TARGET.write_bytes(lzma.compress(json.dumps(found, separators=(",", ":")).encode(), preset=9))


if __name__ == "__main__":
    main()
