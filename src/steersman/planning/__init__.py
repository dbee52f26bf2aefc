"""What an operator would do to a cluster, without doing it.

Reconcilers run in the ordinary controllers, against a *shadow* of the cluster: an embedded API server that reads each
object from the live cluster when it is first needed. A write goes to the live server as a dry run (``dryRun=All``), so
that admission, defaults, validation and permissions are real, and its answer is stored in the shadow, where later reads
of the same plan find it. The plan is the difference between the objects as they were read and as they are in the shadow
when every reconciler has come to rest.

::

    controller ──▶ PlanningTransport ──reads──▶ Shadow ──on first use──▶ ReadOnlyTransport ──GET──▶ live cluster
                          │                       ▲                            ▲
                          └──writes──▶ PlannedWrites ──the answer              └── or dryRun=All, anything else raises

Start with ``planner``, which runs the controllers to rest. ``transport`` sorts the requests, ``writes`` decides who
judges a write, ``shadow`` holds the copy, ``cascade`` deletes what a deleted owner leaves behind, ``read_only`` is the
last line of defence, ``services`` answers for other systems, ``side_effects`` notes what drivers connect to,
``redaction`` hides the contents of Secrets, ``plan`` is the result, ``text`` and ``document`` show it.

What a planner cannot know
--------------------------
- **What other controllers do in answer.** A planned Deployment has no pods and never becomes ready, a planned claim is
  never bound. A reconciler that waits for that waits in the plan, too: the plan says what it does now, and what for.
- **Time.** Nothing waits for a timer. A run that asks to be repeated later is repeated at once, as long as it changed
  something; a run that changed nothing and asks again is at rest.
- **Names and uids that a server draws.** An object with ``generateName`` gets a name in the plan that no real object
  will have. The uid of an object that exists only in the plan is not the one that it will get.
- **The live state after the first planned write.** A dry run does not see the writes planned before it. So a second
  write to the same object, a write to an object that exists only in the plan, and one inside a namespace that exists
  only in the plan are judged by the rules of the embedded server; webhooks and policies do not see them.
- **Quotas over several writes.** Each dry run is judged alone.
- **Webhooks that do not support dry runs.** A server refuses a dry run that such a webhook would have to see. The write
  is then judged by the embedded server's rules, and the plan names the webhook.
- **Objects that were not read.** Dependents of a deleted object are known only in kinds that the operator watches.
- **Other systems.** Only ``ctx.http`` with GET, HEAD and OPTIONS is carried out. Any other call is recorded and has an
  empty answer (``202`` without content, ``None`` from ``ctx.external_write``): what follows from the real answer is
  not in the plan. Connections that a driver opens by itself are outside of it.
- **Changes while the plan is made.** Each object is read once. A live object that changes meanwhile is read again only
  when a write to it conflicts.
"""

from typing import TYPE_CHECKING

from steersman.lazy_names import lazy_names

if TYPE_CHECKING:
    from steersman.planning.plan import Change, Plan, PlannedObject
    from steersman.planning.planner import PlanOptions, make_plan

__all__ = ["Change", "Plan", "PlanOptions", "PlannedObject", "make_plan"]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "steersman.planning.plan": ("Change", "Plan", "PlannedObject"),
        "steersman.planning.planner": ("PlanOptions", "make_plan"),
    },
)
