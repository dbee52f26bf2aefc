"""Member slots of a replica set, and its Kubernetes objects."""

from datetime import UTC, datetime

import pytest
from steersman import meta
from steersman.kinds.apps_v1 import StatefulSet, StatefulSetSpec, StatefulSetStatus
from steersman.kinds.core_v1 import Container, ContainerPort, Pod, PodCondition, PodSpec, PodStatus, PodTemplateSpec
from steersman.kinds.meta_v1 import LabelSelector

from mgors.api.mgors_v1 import Mgors, MgorsSpec, Monitoring
from mgors.member_slots import slots_of
from mgors.members import FIRST_ARBITER, Slot
from mgors.objects import arbiters_of, members_of, service_of
from mgors.pod_template import Revision

REVISION = Revision(image="mongo:6.0")


def mgors(members: int = 1, arbiters: int = 0) -> Mgors:
    """Return a replica set."""
    return Mgors(meta("shop", namespace="db"), MgorsSpec(members=members, arbiters=arbiters))


def pod(name: str = "shop-0", address: str = "10.1.2.3", revision: str = "new") -> Pod:
    """Return a pod of the replica set."""
    about = meta(name, namespace="db", labels={"controller-revision-hash": revision})
    about.uid = f"uid of {name}"
    return Pod(about, spec=PodSpec(containers=[]), status=PodStatus(pod_ip=address or None))


def stateful_set(replicas: int = 1, observed: int = 2) -> StatefulSet:
    """Return the StatefulSet of the members."""
    about = meta("shop", namespace="db")
    about.generation = 2
    spec = StatefulSetSpec(replicas=replicas, selector=LabelSelector(), template=PodTemplateSpec())
    return StatefulSet(about, spec=spec, status=StatefulSetStatus(observed_generation=observed, update_revision="new"))


def slot(found: Pod, **fields: int) -> Slot:
    """Return the only slot."""
    [only] = slots_of(mgors(), {found.name: found}, {"shop": stateful_set(**fields)})
    return only


def test_members_have_dns_names_in_a_cluster_and_ips_on_a_local_node() -> None:
    """Names of local processes cannot be resolved; IPs of pods in a cluster change."""
    assert slot(pod()).host == "shop-0.shop.db.svc:27017"
    assert slot(pod(address="127.3.4.5")).host == "127.3.4.5:27017"
    assert slot(pod(address="")).host == ""


def test_the_port_of_a_member_is_that_of_its_pod() -> None:
    """The spec may have changed since the pod was created."""
    old = pod(address="127.3.4.5")
    old.spec.containers = [Container(name="mongod", ports=[ContainerPort(name="mongodb", container_port=4711)])]
    assert slot(old).host == "127.3.4.5:4711"


def test_wanted_and_existing_pods_have_a_slot() -> None:
    """A pod to be removed needs one, too: its member may still be in the configuration."""
    found = slots_of(mgors(2, 1), {}, {"shop": stateful_set(3)})
    assert [(one.number, one.is_wanted, one.is_arbiter) for one in found] == [
        (0, True, False),
        (1, True, False),
        (2, False, False),
        (FIRST_ARBITER, True, True),
    ]


def test_a_pod_of_another_revision_is_stale() -> None:
    """But only after the StatefulSet controller has observed the template: before, the newest revision is unknown."""
    assert slot(pod(revision="old")).is_stale
    assert not slot(pod()).is_stale
    assert not slot(pod(revision="old"), observed=1).is_stale


def test_a_pod_that_is_being_deleted_does_not_count() -> None:
    """Otherwise it would be replaced again, which would hit its successor with the same name."""
    going = pod(revision="old")
    going.metadata.deletion_timestamp = datetime(2026, 1, 1, tzinfo=UTC)
    found = slot(going)
    assert (found.is_stale, found.host, found.pod_uid) == (False, "", "")


def test_a_slot_is_ready_if_the_kubelet_reports_it() -> None:
    """Also for a pod that is being deleted: its process is alive until it has ended."""
    found = pod()
    assert not slot(found).is_ready
    found.status.conditions = [PodCondition(type="Ready", status="True")]
    assert slot(found).is_ready
    found.metadata.deletion_timestamp = datetime(2026, 1, 1, tzinfo=UTC)
    assert slot(found).is_ready


def test_only_the_operator_replaces_pods() -> None:
    """A StatefulSet does not know the primary. Members wait for each other, so all must start at once."""
    spec = members_of(mgors(3), 3, REVISION).spec
    assert spec.update_strategy is not None
    assert (spec.replicas, spec.update_strategy.type, spec.pod_management_policy) == (3, "OnDelete", "Parallel")


def test_the_service_includes_pods_that_are_not_ready() -> None:
    """Members become ready only after they have found each other."""
    spec = service_of(mgors()).spec
    assert (spec.cluster_ip, spec.publish_not_ready_addresses) == ("None", True)


def test_arbiters_have_no_disk() -> None:
    """They have no data."""
    assert arbiters_of(mgors(2, 1), 1, REVISION).spec.volume_claim_templates is None
    assert members_of(mgors(), 1, REVISION).spec.volume_claim_templates is not None


@pytest.mark.parametrize("enabled", [True, False])
def test_an_exporter_runs_if_it_is_enabled(enabled: bool) -> None:
    """It listens on the port of the spec, which the Service has, too."""
    asked = mgors()
    asked.spec.monitoring = Monitoring(enabled=enabled, port=9300)
    template = members_of(asked, 1, REVISION).spec.template.spec
    assert template is not None
    ports = [port.container_port for container in template.containers for port in container.ports or []]
    assert (9300 in ports) == enabled
    assert (9300 in [port.port for port in service_of(asked).spec.ports or []]) == enabled
