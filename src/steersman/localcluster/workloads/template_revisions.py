"""ControllerRevisions: the templates that a StatefulSet or DaemonSet had, numbered. Pure."""

import msgspec

from steersman.json_types import JsonObject
from steersman.kinds.apps_v1 import ControllerRevision, DaemonSet, StatefulSet
from steersman.kinds.core_v1 import PodTemplateSpec
from steersman.localcluster.workloads.template_hash import template_hash
from steersman.objects.codec import bytes_read, decode_as, decode_json, encode_json
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
    labels = dict(owner.spec.template.metadata.labels) if owner.spec.template.metadata is not None else {}
    return ControllerRevision(
        ObjectMeta(
            f"{owner.name}-{name}",
            labels={**labels, hash_label: name},
            annotations=dict(owner.annotations),
        ),
        data={"spec": {"template": _replacement(owner)}},
        revision=number,
    )


def _replacement(owner: StatefulSet | DaemonSet) -> JsonObject:
    """Return the template as a patch, with all keys in order: other programs compare its bytes with their own."""
    read = bytes_read(owner)
    template = decode_json(encode_json(owner.spec.template)) if read is None else decode_json(read)["spec"]["template"]
    replacement: JsonObject = msgspec.json.decode(
        msgspec.json.encode({**template, "$patch": "replace"}, order="sorted")
    )
    return replacement


def template_of(revision: ControllerRevision) -> PodTemplateSpec:
    """Return the template that a revision stands for."""
    data: JsonObject = revision.data or {}
    template = dict((data.get("spec") or {}).get("template") or {})
    template.pop("$patch", None)
    return decode_as(PodTemplateSpec, encode_json(template))
