"""Services with a selector: their EndpointSlices and Endpoints follow the pods."""

from steersman.controller.context import Context
from steersman.controller.triggers import Chosen
from steersman.kinds.core_v1 import Endpoints, Pod, Service
from steersman.kinds.discovery_v1 import EndpointSlice
from steersman.localcluster.workloads.services.endpoints import endpoints_of, groups, selects, slices_of
from steersman.manager.operator import Operator
from steersman.objects.selectors import LabelSelector

operator = Operator("endpointslice-controller")


@operator.reconciler(
    Service, owns=[EndpointSlice, Endpoints], watches=[Chosen(Pod, by=selects)], name="service-endpoints"
)
async def reconcile(service: Service, ctx: Context[Service]) -> None:
    """Write the addresses of the pods of a Service as EndpointSlices and Endpoints, and delete surplus slices."""
    if not service.spec.selector or service.spec.type == "ExternalName":
        # Addresses of a Service without a selector are managed by its author.
        return
    pods = await ctx.list(Pod, LabelSelector.of(service.spec.selector))
    found = groups(service, pods)
    for one in slices_of(service, found):
        await ctx.apply(one)
    await ctx.prune(EndpointSlice)
    await ctx.apply(endpoints_of(service, found))
