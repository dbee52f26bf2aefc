"""Revisions of a Deployment: which of its ReplicaSets is the new one, and the annotations that number them. Pure."""

from collections.abc import Iterable, Sequence
from copy import deepcopy

from steersman.kinds.apps_v1 import Deployment, ReplicaSet, ReplicaSetSpec
from steersman.kinds.core_v1 import PodTemplateSpec
from steersman.kinds.meta_v1 import LabelSelector
from steersman.localcluster.workloads.template_hash import canonical, template_hash
from steersman.objects.meta import ObjectMeta

HASH_LABEL = "pod-template-hash"
REVISION = "deployment.kubernetes.io/revision"
HISTORY = "deployment.kubernetes.io/revision-history"
DESIRED = "deployment.kubernetes.io/desired-replicas"
MAXIMUM = "deployment.kubernetes.io/max-replicas"
#: Limit of the history of revision numbers.
_MAX_HISTORY = 2000
#: Annotations of a Deployment that its ReplicaSets do not get: they are about one object, or set by the controller.
_OWN = frozenset(
    {
        "kubectl.kubernetes.io/last-applied-configuration",
        REVISION,
        HISTORY,
        DESIRED,
        MAXIMUM,
        "deprecated.deployment.rollback.to",
    }
)


def replicas_of(obj: Deployment | ReplicaSet) -> int:
    """Return how many replicas are wanted."""
    return 1 if obj.spec.replicas is None else obj.spec.replicas


def revision_of(obj: Deployment | ReplicaSet) -> int:
    """Return the number of a revision; 0 if it has none."""
    text = obj.annotations.get(REVISION, "")
    return int(text) if text.isdecimal() else 0


def by_age(replica_sets: Iterable[ReplicaSet]) -> list[ReplicaSet]:
    """Return ReplicaSets, oldest first."""
    return sorted(replica_sets, key=lambda one: (_born(one), one.name))


def _born(replica_set: ReplicaSet) -> float:
    born = replica_set.metadata.creation_timestamp
    return born.timestamp() if born is not None else float("inf")


def find_new(deployment: Deployment, replica_sets: Iterable[ReplicaSet]) -> ReplicaSet | None:
    """Return the oldest ReplicaSet that has the Deployment's template."""
    wanted = canonical(deployment.spec.template)
    for one in by_age(replica_sets):
        if one.spec.template is not None and canonical(_without_hash(one.spec.template)) == wanted:
            return one
    return None


def _without_hash(template: PodTemplateSpec) -> PodTemplateSpec:
    plain = deepcopy(template)
    if plain.metadata is not None:
        plain.metadata.labels.pop(HASH_LABEL, None)
    return plain


def new_replica_set(deployment: Deployment, revision: int, replicas: int, max_replicas: int) -> ReplicaSet:
    """Return the ReplicaSet of a Deployment's current template."""
    name = template_hash(deployment.spec.template, deployment.status.collision_count)
    template = deepcopy(deployment.spec.template)
    metadata = template.metadata = template.metadata or ObjectMeta()
    metadata.labels[HASH_LABEL] = name
    selector = deployment.spec.selector
    made = ReplicaSet(
        ObjectMeta(f"{deployment.name}-{name}", namespace=deployment.namespace, labels=dict(metadata.labels)),
        spec=ReplicaSetSpec(
            replicas=replicas,
            min_ready_seconds=deployment.spec.min_ready_seconds,
            selector=LabelSelector(
                match_labels={**(selector.match_labels or {}), HASH_LABEL: name},
                match_expressions=selector.match_expressions,
            ),
            template=template,
        ),
    )
    annotate(made, deployment, revision)
    annotate_size(made, replicas_of(deployment), max_replicas)
    return made


def next_revision(old: Sequence[ReplicaSet]) -> int:
    """Return the number of the newest revision, given the older ones."""
    return max((revision_of(one) for one in old), default=0) + 1


def annotate(replica_set: ReplicaSet, deployment: Deployment, revision: int) -> None:
    """Copy the Deployment's annotations, and make the ReplicaSet the newest revision; numbers only grow."""
    for name, value in deployment.annotations.items():
        if name not in _OWN:
            replica_set.annotations[name] = value
    before = revision_of(replica_set)
    if before >= revision:
        return
    if before:
        past = [number for number in replica_set.annotations.get(HISTORY, "").split(",") if number]
        past.append(str(before))
        while len(",".join(past)) > _MAX_HISTORY:
            del past[0]
        replica_set.annotations[HISTORY] = ",".join(past)
    replica_set.annotations[REVISION] = str(revision)


def annotate_size(replica_set: ReplicaSet, desired: int, maximum: int) -> None:
    """Record for which size of the Deployment a ReplicaSet has its size: that distinguishes scaling from a rollout."""
    replica_set.annotations[DESIRED] = str(desired)
    replica_set.annotations[MAXIMUM] = str(maximum)


def noted(replica_set: ReplicaSet, annotation: str) -> int | None:
    """Return a size that an annotation records; ``None`` without one."""
    text = replica_set.annotations.get(annotation, "")
    return int(text) if text.isdecimal() else None
