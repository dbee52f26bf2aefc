"""The reconciler of CustomPod: keeps the wanted number of pods running, and replaces those that fail."""

from steersman import Context, Invalid, Permanent, Retry
from steersman.concurrency import slow_start
from steersman.errors import ApiError
from steersman.kinds.core_v1 import Pod

from custompod.api.custom_pod_v1 import CustomPod
from custompod.operator import operator
from custompod.pods import has_ended, is_ready, keep_order, pod_of


@operator.reconciler(CustomPod, owns=[Pod])
async def reconcile(custom_pod: CustomPod, ctx: Context[CustomPod]) -> None:
    """Create and delete pods until there are as many as wanted."""
    wanted = custom_pod.spec.replicas
    pods = sorted((pod for pod in ctx.owned(Pod) if not pod.is_deleting), key=keep_order)
    running = [pod for pod in pods if not has_ended(pod)]
    kept, surplus = running[:wanted], running[wanted:]
    for pod in [*filter(has_ended, pods), *surplus]:
        await ctx.delete(pod)
        ctx.event("SuccessfulDelete", f"deleted pod {pod.name}")

    async def create() -> None:
        pod = await ctx.create(pod_of(custom_pod))
        ctx.event("SuccessfulCreate", f"created pod {pod.name}")
        kept.append(pod)

    problem = ""
    try:
        await slow_start(wanted - len(kept), create)
    except Invalid as error:
        raise Permanent("InvalidTemplate", str(error)) from error
    except ApiError as error:
        problem = str(error)
    report(custom_pod, kept, problem, ctx)
    if problem:
        ctx.event("FailedCreate", problem, kind="Warning")
        raise Retry(problem)


def report(custom_pod: CustomPod, pods: list[Pod], problem: str, ctx: Context[CustomPod]) -> None:
    """Write the observed pods into the status."""
    ready, wanted = sum(is_ready(pod) for pod in pods), custom_pod.spec.replicas
    custom_pod.status.replicas = len(pods)
    custom_pod.status.ready_replicas = ready
    custom_pod.status.pod_names = sorted(pod.name for pod in pods)
    custom_pod.status.selector = f"app={custom_pod.name}"
    message = f"{ready} of {wanted} pods are ready"
    if problem:
        ctx.condition("Progressing", False, "FailedCreate", problem)
    else:
        ctx.condition("Progressing", ready < wanted, "WaitingForPods" if ready < wanted else "Complete", message)
    ctx.condition("Ready", ready == wanted, "AllReady" if ready == wanted else "NotAllReady", message)
