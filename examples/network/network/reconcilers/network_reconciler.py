"""The reconciler of Network: the provider has exactly one matching network while the object exists."""

from steersman import Context, Permanent, Retry

from network.api.network_v1 import Network
from network.operator import operator
from network.provider import URL, Provided, Provider, RejectedError, UnavailableError, Wanted, planned_answer

#: Seconds between two checks for drift at the provider.
DRIFT_CHECK = 300.0

operator.plan_service(URL, planned_answer)


@operator.reconciler(Network, workers=4, finalizer="samplecrd.k8s.io/network")
async def reconcile(network: Network, ctx: Context[Network]) -> None:
    """Create or update the provider's network; the finalizer exists before the first request."""
    provider = Provider(ctx.http(URL))
    wanted = Wanted(uid=network.uid, cidr=network.spec.cidr, gateway=network.spec.gateway)
    try:
        provided = await _ensure(provider, wanted, ctx)
    except RejectedError as rejection:
        raise Permanent("Rejected", str(rejection)) from None
    except UnavailableError as failure:
        ctx.condition("Synced", False, "ProviderError", str(failure))
        ctx.event("ProviderError", str(failure), kind="Warning")
        raise Retry(str(failure)) from None
    network.status.provider_id = provided.id
    ctx.condition("Synced", True, "UpToDate")
    ctx.condition("Ready", True, "Provisioned")
    ctx.requeue_after(DRIFT_CHECK)


async def _ensure(provider: Provider, wanted: Wanted, ctx: Context[Network]) -> Provided:
    provided = await provider.find(wanted.uid)
    if provided is None:
        provided = await provider.create(wanted)
        ctx.event("Provisioned", f"network {provided.id} has {provided.cidr}")
    elif (provided.cidr, provided.gateway) != (wanted.cidr, wanted.gateway):
        provided = await provider.update(provided, wanted)
        ctx.event("Updated", f"network {provided.id} has {provided.cidr}, gateway {provided.gateway}")
    return provided


@reconcile.cleanup
async def cleanup(network: Network, ctx: Context[Network]) -> None:
    """Delete the provider's network, found by uid because the status may never have been written."""
    provider = Provider(ctx.http(URL))
    try:
        if (provided := await provider.find(network.uid)) is not None:
            await provider.delete(provided)
            ctx.event("Deleted", f"network {provided.id} was deleted")
    except UnavailableError as failure:
        ctx.event("ProviderError", str(failure), kind="Warning")
        raise Retry(str(failure)) from None
