"""Which places a replica set has, and what its objects look like."""

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


def mgors(members: int = 1, arbiters: int = 0) -> Mgors:
    """Give an object."""
    return Mgors(meta("shop", namespace="db"), MgorsSpec(members=members, arbiters=arbiters))


def pod(name: str = "shop-0", address: str = "10.1.2.3", revision: str = "new") -> Pod:
    """Give a pod of it."""
    about = meta(name, namespace="db", labels={"controller-revision-hash": revision})
    about.uid = f"uid of {name}"
    return Pod(about, spec=PodSpec(containers=[]), status=PodStatus(pod_ip=address or None))


def stateful_set(replicas: int = 1, observed: int = 2) -> StatefulSet:
    """Give the StatefulSet of its members."""
    about = meta("shop", namespace="db")
    about.generation = 2
    spec = StatefulSetSpec(replicas=replicas, selector=LabelSelector(), template=PodTemplateSpec())
    return StatefulSet(about, spec=spec, status=StatefulSetStatus(observed_generation=observed, update_revision="new"))


def slot(found: Pod, **fields: int) -> Slot:
    """Give the one place."""
    [only] = slots_of(mgors(), {found.name: found}, {"shop": stateful_set(**fields)})
    return only


def test_members_have_names_in_a_cluster_and_addresses_on_a_laptop() -> None:
    """Where pods are processes nobody resolves their names; where they are not, addresses change."""
    assert slot(pod()).host == "shop-0.shop.db.svc:27017"
    assert slot(pod(address="127.3.4.5")).host == "127.3.4.5:27017"
    assert slot(pod(address="")).host == ""


def test_a_member_is_where_its_pod_listens() -> None:
    """Whatever the object says by now: a pod of before is not found at a port of tomorrow."""
    old = pod(address="127.3.4.5")
    old.spec.containers = [Container(name="mongod", ports=[ContainerPort(name="mongodb", container_port=4711)])]
    assert slot(old).host == "127.3.4.5:4711"


def test_what_is_wanted_and_what_is_there_have_a_place() -> None:
    """One that is to go is looked at as well: it may still belong to the set."""
    found = slots_of(mgors(2, 1), {}, {"shop": stateful_set(3)})
    assert [(one.number, one.is_wanted, one.is_arbiter) for one in found] == [
        (0, True, False),
        (1, True, False),
        (2, False, False),
        (FIRST_ARBITER, True, True),
    ]


def test_a_pod_of_another_revision_is_stale() -> None:
    """But not before the StatefulSet was looked at: until then nobody knows which one is the newest."""
    assert slot(pod(revision="old")).is_stale
    assert not slot(pod()).is_stale
    assert not slot(pod(revision="old"), observed=1).is_stale


def test_a_pod_that_is_going_is_none() -> None:
    """Otherwise it would be replaced once more, and its successor be hit: they have the same name."""
    going = pod(revision="old")
    going.metadata.deletion_timestamp = datetime(2026, 1, 1, tzinfo=UTC)
    found = slot(going)
    assert (found.is_stale, found.host, found.pod_uid) == (False, "", "")


def test_the_kubelet_says_whether_a_pod_is_ready() -> None:
    """Also of one that is being deleted: its process lives until it is gone."""
    found = pod()
    assert not slot(found).is_ready
    found.status.conditions = [PodCondition(type="Ready", status="True")]
    assert slot(found).is_ready
    found.metadata.deletion_timestamp = datetime(2026, 1, 1, tzinfo=UTC)
    assert slot(found).is_ready


def test_the_operator_replaces_pods_by_itself() -> None:
    """A StatefulSet does not know which one is the primary; and members wait for each other, so all start at once."""
    spec = members_of(mgors(3), 3).spec
    assert spec.update_strategy is not None
    assert (spec.replicas, spec.update_strategy.type, spec.pod_management_policy) == (3, "OnDelete", "Parallel")


def test_members_are_found_before_they_are_ready() -> None:
    """They become ready by finding each other."""
    spec = service_of(mgors()).spec
    assert (spec.cluster_ip, spec.publish_not_ready_addresses) == ("None", True)


def test_arbiters_have_no_disk() -> None:
    """They have nothing to keep."""
    assert arbiters_of(mgors(2, 1), 1).spec.volume_claim_templates is None
    assert members_of(mgors(), 1).spec.volume_claim_templates is not None


@pytest.mark.parametrize("enabled", [True, False])
def test_an_exporter_runs_where_it_is_asked_for(enabled: bool) -> None:
    """On the port that the object names, which the Service has as well."""
    asked = mgors()
    asked.spec.monitoring = Monitoring(enabled=enabled, port=9300)
    template = members_of(asked, 1).spec.template.spec
    assert template is not None
    ports = [port.container_port for container in template.containers for port in container.ports or []]
    assert (9300 in ports) == enabled
    assert (9300 in [port.port for port in service_of(asked).spec.ports or []]) == enabled
