"""ControllerRevisions: the templates that a StatefulSet or DaemonSet had, numbered, so that one can go back to them."""

from collections.abc import Callable
from typing import Any, TypeVar

from steersman.controller.context import Context
from steersman.kinds.apps_v1 import ControllerRevision, DaemonSet, StatefulSet
from steersman.kinds.core_v1 import PodTemplateSpec
from steersman.localcluster.workloads.claiming import claimed
from steersman.localcluster.workloads.pods import selector_of
from steersman.localcluster.workloads.template_hash import canonical, template_hash
from steersman.objects.codec import decode_as, decode_json, encode_json
from steersman.objects.meta import ObjectMeta

S = TypeVar("S", bound=StatefulSet | DaemonSet)

#: How many revisions beside those in use are kept where nothing is said.
_DEFAULT_LIMIT = 10


class Revisions:
    """The revisions of one workload, oldest first, of which the last is the present template's."""

    def __init__(self, all_: list[ControllerRevision]) -> None:
        self.all = sorted(all_, key=lambda one: (one.revision, one.name))

    @property
    def update(self) -> ControllerRevision:
        """The revision of the present template."""
        return self.all[-1]

    def named(self, name: str | None) -> ControllerRevision | None:
        """Give a revision by its name."""
        return next((one for one in self.all if one.name == name), None)


async def synced_revisions(owner: S, ctx: Context[S], *, hash_label: str) -> Revisions:
    """Give the revisions after the present template has become the newest of them.

    A template that was there before gets the next number: that is what a rollback is.
    """
    known = Revisions(await claimed(owner, ctx, ControllerRevision, selector_of(owner.spec.selector)))
    wanted = canonical(owner.spec.template)
    same = [one for one in known.all if canonical(template_of(one)) == wanted]
    number = known.update.revision + 1 if known.all else 1
    if not same:
        return Revisions([*known.all, await ctx.create(_revision(owner, number, hash_label))])
    newest = same[-1]
    if newest.uid == known.update.uid:
        return known
    newest.revision = number
    moved = await ctx.update(newest)
    return Revisions([*(one for one in known.all if one.uid != moved.uid), moved])


def _revision(owner: S, number: int, hash_label: str) -> ControllerRevision:
    name = template_hash(owner.spec.template, owner.status.collision_count)
    template = decode_json(encode_json(owner.spec.template))
    labels = dict(owner.spec.template.metadata.labels) if owner.spec.template.metadata is not None else {}
    kept = ("kubectl.kubernetes.io/last-applied-configuration",)
    return ControllerRevision(
        ObjectMeta(
            f"{owner.name}-{name}",
            labels={**labels, hash_label: name},
            annotations={key: value for key, value in owner.annotations.items() if key not in kept},
        ),
        data={"spec": {"template": {**template, "$patch": "replace"}}},
        revision=number,
    )


def template_of(revision: ControllerRevision) -> PodTemplateSpec:
    """Give the template that a revision stands for."""
    data: dict[str, Any] = revision.data or {}
    template = dict((data.get("spec") or {}).get("template") or {})
    template.pop("$patch", None)
    return decode_as(PodTemplateSpec, encode_json(template))


async def forget_revisions(
    owner: S, revisions: Revisions, ctx: Context[S], *, is_used: Callable[[ControllerRevision], bool]
) -> None:
    """Delete the oldest revisions beyond those that shall be kept; those in use do not count."""
    limit = owner.spec.revision_history_limit
    spare = [one for one in revisions.all if not is_used(one)]
    for one in spare[: max(len(spare) - (_DEFAULT_LIMIT if limit is None else limit), 0)]:
        await ctx.delete(one)
