"""Which objects of a cluster are ours: ``app.kubernetes.io/managed-by: steer`` marks those that `steer deploy` created.

Objects that existed before are changed where the operator needs it, but do not get the label, and `steer undeploy`
keeps them. A namespace that existed before is not changed.
"""

from typing import TYPE_CHECKING, Final

import click

if TYPE_CHECKING:
    from steersman.client.client import Client
    from steersman.objects.resource import Unstructured

_MANAGED_BY: Final = "app.kubernetes.io/managed-by"
#: Seconds that a namespace which is being deleted may take to go.
_NAMESPACE_PATIENCE: Final = 120.0
#: Objects that a cluster puts into every namespace, by resource.
_FURNITURE: Final = {
    "configmaps": ("kube-root-ca.crt", "openshift-service-ca.crt"),
    "serviceaccounts": ("default",),
}
#: Resources that are not content of a namespace, or that follow from other objects.
_OVERLOOKED: Final = frozenset(
    {"events", "endpoints", "endpointslices", "bindings", "localsubjectaccessreviews", "componentstatuses"}
)
#: Objects of one kind that are looked at; more than these furnishings are content anyway.
_LOOK_AT: Final = 10


def is_ours(live: "Unstructured") -> bool:
    """Return whether `steer deploy` created an object."""
    return bool(live.labels.get(_MANAGED_BY) == "steer")


async def adapted(client: "Client", wanted: "Unstructured") -> "Unstructured":
    """Return what to apply: without the label of ours if the object was there before."""
    from steersman.cli.cluster.applying import find, shown
    from steersman.objects.resource import Unstructured

    live = await find(client, wanted)
    if live is None or is_ours(live) or _MANAGED_BY not in wanted.labels:
        return wanted
    click.echo(f"note: {shown(wanted)} was there before: 'steer undeploy' will keep it", err=True)
    metadata = wanted.content["metadata"]
    labels = {key: value for key, value in metadata["labels"].items() if key != _MANAGED_BY}
    return Unstructured({**wanted.content, "metadata": {**metadata, "labels": labels}})


async def ensure_namespace(client: "Client", wanted: "Unstructured", *, dry_run: bool) -> "Unstructured":
    """Return the namespace, created if necessary; wait first if it is being deleted.

    An existing one stays unchanged: labels of a namespace affect the pods of other people.
    """
    from steersman.errors import AlreadyExists

    while True:
        live = await client.try_get(wanted.gvk, wanted.name)
        if live is not None and live.content["metadata"].get("deletionTimestamp"):
            if dry_run:
                return wanted
            await _wait_gone(client, live)
        elif live is not None:
            return live
        else:
            try:
                return await client.create(wanted)
            except AlreadyExists:
                continue


async def _wait_gone(client: "Client", namespace: "Unstructured") -> None:
    from steersman.errors import WaitTimeout

    click.echo(f"waiting for namespace {namespace.name}, which is being deleted", err=True)
    try:
        await client.wait_deleted(namespace, timeout=_NAMESPACE_PATIENCE)
    except WaitTimeout:
        live = await client.try_get(namespace.gvk, namespace.name)
        conditions = ((live.content if live else {}).get("status") or {}).get("conditions") or ()
        why = "; ".join(one["message"] for one in conditions if one.get("status") == "True" and one.get("message"))
        raise click.ClickException(
            f"namespace {namespace.name} is still being deleted after {_NAMESPACE_PATIENCE:g} s"
            f"{f': {why}' if why else ''}"
        ) from None


async def content_of(client: "Client", namespace: str) -> list[str]:
    """Return the objects in a namespace, except those that every namespace has, such as ``2 configmaps``.

    Resources that may not be listed are named as well: there may be some. Objects can appear right after this check.
    """
    from steersman.errors import Forbidden, MethodNotAllowed, NotFound
    from steersman.protocol.options import ListOptions

    found: dict[str, str] = {}
    for resource in await client.discovery.resources():
        name = resource.gvr.group_resource
        if not resource.namespaced or resource.plural in _OVERLOOKED or name in found:
            continue
        try:
            page = await client.list_page(resource.gvk, ListOptions(limit=_LOOK_AT), namespace=namespace)
        except Forbidden:
            found[name] = f"perhaps {name}, which may not be listed"
            continue
        except (MethodNotAllowed, NotFound):
            continue
        furniture = _FURNITURE.get(name, ())
        count = len([item for item in page.items if item.name not in furniture])
        if count:
            found[name] = f"{count}{'+' if page.metadata.continue_ else ''} {name}"
    return list(found.values())
