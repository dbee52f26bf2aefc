"""The rule that decides who owns an object, without a server: every case, and the precondition of the write."""

import pytest

from steersman.controller.run.claims import CREATE_ONLY, Claimant, is_outdated
from steersman.errors import AlreadyOwned, Cause, Conflict, Invalid, Retry
from steersman.kinds.core_v1 import ConfigMap
from steersman.objects.meta import ManagedFieldsEntry, OwnerReference, meta
from steersman.objects.resource import PartialObjectMetadata
from steersman.protocol.options import Preconditions
from tests.controller.conftest import record
from tests.support.widgets import Widget, WidgetSpec

OWNER = Widget(meta("a", "ns", uid="uid-of-a"), WidgetSpec())
INTENT = ConfigMap(meta("child", "ns"))


def claimant(*, owned: bool = True, adopt: bool = False) -> Claimant:
    """Return the widget `a` as the owner that applies, with the field manager `op`."""
    return Claimant(OWNER, "op", owned, adopt)


def live(*managers: str, controller: str = "", name: str = "b") -> PartialObjectMetadata:
    """Return an existing object with these field managers and the uid of its controller."""
    reference = OwnerReference(
        api_version="runtime.example.com/v1", kind="Widget", name=name, uid=controller, controller=True
    )
    return PartialObjectMetadata(
        meta(
            "child",
            "ns",
            uid="uid-of-child",
            resource_version="7",
            owner_references=[reference] if controller else [],
            managed_fields=[ManagedFieldsEntry(manager=manager, operation="Apply") for manager in managers],
        )
    )


def test_an_object_that_does_not_exist_may_only_be_created() -> None:
    """If an object appears meanwhile, that is a conflict."""
    assert claimant().claim_live(INTENT, None) == CREATE_ONLY


def test_an_object_with_the_owner_as_controller_is_its_own() -> None:
    """Other writers do not matter."""
    ours = Preconditions(uid="uid-of-child")
    assert claimant().claim_live(INTENT, live("kubectl", controller="uid-of-a")) == ours
    assert claimant(owned=False).claim_live(INTENT, live("kubectl", controller="uid-of-a")) == ours


@pytest.mark.parametrize("owned", [True, False])
@pytest.mark.parametrize("adopt", [True, False])
@pytest.mark.parametrize("managers", [(), ("op",), ("kubectl", "op")])
def test_an_object_with_another_controller_is_never_adopted(
    *, owned: bool, adopt: bool, managers: tuple[str, ...]
) -> None:
    """Our own field manager does not prove ownership: two of our objects may name one child."""
    with pytest.raises(AlreadyOwned, match="ConfigMap ns/child exists and is controlled by Widget b") as refused:
        claimant(owned=owned, adopt=adopt).claim_live(INTENT, live(*managers, controller="uid-of-b"))
    assert refused.value.owner == "Widget b"


def test_a_controller_that_the_author_sets_is_accepted() -> None:
    """With owned=False the author may set another owner, and applies the object again in the next run."""
    reference = OwnerReference(api_version="v1", kind="ConfigMap", name="x", uid="uid-of-x", controller=True)
    intent = ConfigMap(meta("child", "ns", owner_references=[reference]))
    assert claimant(owned=False).claim_live(intent, live(controller="uid-of-x")) == Preconditions(uid="uid-of-child")


def test_a_child_of_a_recreated_owner_is_waited_for() -> None:
    """The garbage collector has not deleted the child of the former owner yet."""
    with pytest.raises(Retry, match="belongs to an earlier Widget a"):
        claimant().claim_live(INTENT, live("op", controller="uid-before", name="a"))


def test_an_object_without_a_controller_is_ours_by_its_field_manager() -> None:
    """It must be unchanged since it was read when it gets our controller reference."""
    guarded = Preconditions(uid="uid-of-child", resource_version="7")
    assert claimant().claim_live(INTENT, live("op", "kubectl")) == guarded
    assert claimant(owned=False).claim_live(INTENT, live("op")) == guarded
    assert claimant(adopt=True).claim_live(INTENT, live("kubectl")) == guarded
    for managers, named in ((("kubectl", "helm"), "field managers: kubectl, helm"), ((), "no field manager")):
        with pytest.raises(AlreadyOwned, match=named):
            claimant().claim_live(INTENT, live(*managers))


@pytest.mark.parametrize(
    "entry",
    [
        ManagedFieldsEntry(manager="op", operation="Update"),
        ManagedFieldsEntry(manager="op", operation="Update", subresource="status"),
        ManagedFieldsEntry(manager="op", operation="Apply", subresource="status"),
    ],
)
def test_a_status_or_a_finalizer_of_ours_does_not_make_an_object_ours(entry: ManagedFieldsEntry) -> None:
    """An operator writes both into objects that users created."""
    found = live("kubectl")
    found.metadata.managed_fields.append(entry)
    with pytest.raises(AlreadyOwned, match="field managers: kubectl, op"):
        claimant().claim_live(INTENT, found)


def test_a_cached_object_is_ours_only_by_its_controller_reference() -> None:
    """A cache has no field managers, and another owner that it shows may be outdated."""
    reference = {"apiVersion": "runtime.example.com/v1", "kind": "Widget", "name": "a", "controller": True}
    ours = record("child", ownerReferences=[{**reference, "uid": "uid-of-a"}])
    assert claimant().claim_cached(INTENT, ours) == Preconditions(uid="uid-child")
    for other in (
        record("child", ownerReferences=[{**reference, "uid": "uid-of-b"}]),
        record("child", ownerReferences=[{**reference, "uid": "uid-of-a", "controller": False}]),
        record("child"),
    ):
        assert claimant().claim_cached(INTENT, other) is None


def test_which_errors_of_an_apply_mean_that_the_object_is_another() -> None:
    """Any other error is the author's, and is not retried here."""
    version = Conflict("modified", code=409)
    fields = Conflict("conflict with tuner", code=409, causes=[Cause("FieldManagerConflict", "", ".data.size")])
    uid = Invalid("immutable", code=422, causes=[Cause("FieldValueInvalid", "", "metadata.uid")])
    owners = Invalid(
        "only one controller", code=422, causes=[Cause("FieldValueInvalid", "", "metadata.ownerReferences")]
    )
    spec = Invalid("too many", code=422, causes=[Cause("FieldValueInvalid", "", "spec.replicas")])
    assert [is_outdated(error, looked=True) for error in (version, fields, uid, owners, spec)] == [
        *(True, False, True, True, False)
    ]
    # Before the object is read, a conflict of fields may be with an object that is not ours.
    assert is_outdated(fields, looked=False)
