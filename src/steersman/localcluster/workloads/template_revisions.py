"""ControllerRevisions: the templates that a StatefulSet or DaemonSet had, numbered. Pure."""

from steersman.json_types import JsonObject
from steersman.kinds.apps_v1 import ControllerRevision, DaemonSet, StatefulSet
from steersman.kinds.core_v1 import PodTemplateSpec
from steersman.localcluster.workloads.template_hash import template_hash
from steersman.objects.codec import decode_as, decode_json, encode_json
from steersman.objects.meta import ObjectMeta


class Revisions:
    """The revisions of one workload, oldest first, of which the last is the present template's."""

    def __init__(self, all_: list[ControllerRevision]) -> None:
        self.all = sorted(all_, key=lambda one: (one.revision, one.name))

    @property
    def update(self) -> ControllerRevision:
        """The revision of the present template."""
        return self.all[-1]

    def named(self, name: str | None) -> ControllerRevision | None:
        """Return a revision by its name."""
        return next((one for one in self.all if one.name == name), None)


def new_revision(owner: StatefulSet | DaemonSet, number: int, hash_label: str) -> ControllerRevision:
    """Return the revision of the current template."""
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
    """Return the template that a revision stands for."""
    data: JsonObject = revision.data or {}
    template = dict((data.get("spec") or {}).get("template") or {})
    template.pop("$patch", None)
    return decode_as(PodTemplateSpec, encode_json(template))
