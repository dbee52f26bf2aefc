"""The keys under which a real server stores objects: its message about a failed precondition contains them."""

from steersman.apiserver.resources.served_resource import ServedResource

#: Resources that a real server stores under another name.
_KEYS = {
    "services": "services/specs",
    "endpoints": "services/endpoints",
    "nodes": "minions",
    "replicationcontrollers": "controllers",
    "ingresses": "ingress",
}
_KEYED_BY_GROUP = ("apiextensions.k8s.io", "apiregistration.k8s.io")


def precondition_text(served: ServedResource, namespace: str, name: str, why: str, *, dry_run: bool = False) -> str:
    """Say that the object in the store is not the one that a write is about."""
    group = f"{served.group}/" if not served.builtin or served.group in _KEYED_BY_GROUP else ""
    place = f"{namespace}/{name}" if namespace else name
    # A dry run does not come as far as the store, which knows where everything begins.
    root = "" if dry_run else "/registry"
    key = f"{root}/{group}{_KEYS.get(served.plural, served.plural)}/{place}"
    return (
        f"StorageError: invalid object, Code: 4, Key: {key}, ResourceVersion: 0, AdditionalErrorMsg: "
        f"Precondition failed: {why}"
    )
