"""Runs the kopf operator in a separate process and watches it reconcile."""

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml
from kubernetes import client, config, utils

PLACE = ("demo.dev", "v1", "default", "widgets")


def eventually(look: Callable[[], Any]) -> Any:
    """Wait until the function returns a true value."""
    for _ in range(400):
        if found := look():
            return found
        time.sleep(0.05)  # noqa: TID251 - a script that waits for another process
    raise AssertionError("it did not happen")


def main() -> None:
    """Create, change and delete one object."""
    config.load_kube_config()
    api = client.ApiClient()
    definition = yaml.safe_load(Path(sys.argv[1]).read_text())
    # kopf stores its own notes in the status, too.
    schema = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    schema["properties"]["status"]["x-kubernetes-preserve-unknown-fields"] = True
    utils.create_from_dict(api, definition)
    objects = client.CustomObjectsApi(api)
    operator = subprocess.Popen(  # noqa: S603 - our own script
        [
            sys.executable,
            "-m",
            "kopf",
            "run",
            "--quiet",
            "--namespace=default",
            str(Path(__file__).with_name("kopf_operator.py")),
        ]
    )
    try:
        body = {"apiVersion": "demo.dev/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": {"color": "red"}}
        objects.create_namespaced_custom_object(*PLACE, body)

        def phase(wanted: str) -> Any:
            found = objects.get_namespaced_custom_object(*PLACE, "w")
            return found if (found.get("status") or {}).get("phase") == wanted else None

        made = eventually(lambda: phase("made red"))
        print("created", made["metadata"]["finalizers"])
        objects.patch_namespaced_custom_object(*PLACE, "w", {"spec": {"color": "blue"}})
        eventually(lambda: phase("red became blue"))
        print("updated")
        objects.delete_namespaced_custom_object(*PLACE, "w")
        eventually(lambda: not objects.list_namespaced_custom_object(*PLACE)["items"])
        core = client.CoreV1Api(api)
        cleaned = eventually(
            lambda: [event for event in core.list_namespaced_event("default").items if event.reason == "Cleaned"]
        )
        print("deleted", cleaned[0].message)
    finally:
        operator.terminate()
        print("ended", operator.wait(20))


main()
