"""Several versions of one kind: conversions, preserved fields, and errors at the declaration."""

from typing import Any

import pytest

from steersman.errors import ConversionError, DeclarationError
from steersman.objects.meta import meta
from steersman.objects.model import Model
from steersman.objects.registry import Registry
from steersman.objects.resource import Resource, Status
from steersman.schema import converts, custom_resource, renames
from steersman.schema.crd import crd_of
from steersman.schema.round_trips import check_round_trips
from steersman.schema.versions import Versions
from steersman.testing.round_trips import assert_round_trips
from tests.support.websites import GROUP, AlphaWebsite, BetaWebsite, Website

ALL = (Website, BetaWebsite, AlphaWebsite)
V1, BETA, ALPHA = f"{GROUP}/v1", f"{GROUP}/v1beta1", f"{GROUP}/v1alpha1"
KEPT = f"{GROUP}/kept-from-v1"
Document = dict[str, Any]


def _website(api_version: str = V1, **spec: Any) -> Document:
    metadata = {"name": "blog", "namespace": "web", "uid": "u-1", "resourceVersion": "7", "finalizers": ["a.dev/b"]}
    return {"apiVersion": api_version, "kind": "Website", "metadata": metadata, "spec": spec}


def test_declared_versions_lose_nothing() -> None:
    """The sample kind shows that renames, functions and the conversion through the hub work together."""
    assert_round_trips(*ALL, count=40)


def test_renamed_fields_move_and_others_stay() -> None:
    """A rename is a complete conversion: no function is needed."""
    made = Versions(ALL).convert(_website(BETA, replicas=3, host="a.dev", pages=[{"text": "x", "weight": 2}]), V1)
    assert made["apiVersion"] == V1
    assert made["spec"] == {"copies": 3, "domain": "a.dev", "pages": [{"text": "x", "weight": 2}]}


def test_the_input_of_a_conversion_is_not_changed() -> None:
    """The caller may hold it in a cache."""
    given = _website(BETA, replicas=3)
    Versions(ALL).convert(given, V1)
    assert given == _website(BETA, replicas=3)


def test_a_conversion_keeps_the_metadata() -> None:
    """A server rejects objects whose name or uid changed, and authors should not have to think of it."""
    made = Versions(ALL).convert(_website(copies=2, domain="a.dev"), ALPHA)
    given = _website()["metadata"]
    assert {key: made["metadata"][key] for key in given} == given


def test_a_function_that_renames_the_object_is_rejected() -> None:
    """The server would reject it with a less helpful message."""
    one, other = _pair(Registry())

    @converts(one, other)
    def rename(old: Any) -> Any:
        return other(meta(f"{old.name}-new"), old.spec)

    converts(other, one)(lambda new: one(new.metadata, new.spec, new.status))
    with pytest.raises(ConversionError, match=r"Thing a cannot become v2: .*rename changed metadata.name"):
        Versions((one, other)).convert(_thing("v1"), "x.dev/v2")


def test_a_field_that_a_version_lacks_is_preserved_and_restored() -> None:
    """Clients of the old version read and write back; they must not erase fields that they cannot see."""
    versions = Versions(ALL)
    beta = versions.convert(_website(copies=2, domain="a.dev", color="red"), BETA)
    assert beta["spec"] == {"replicas": 2, "host": "a.dev"}
    beta["spec"]["replicas"] = 5
    back = versions.convert(beta, V1)
    assert back["spec"] == {"copies": 5, "domain": "a.dev", "color": "red"}
    assert "annotations" not in back["metadata"]


def test_a_change_in_the_other_version_overrides_the_preserved_value() -> None:
    """A user who changes the words of a page means it."""
    versions = Versions(ALL)
    alpha = versions.convert(_website(domain="a.dev", pages=[{"text": "x", "weight": 2.0}]), ALPHA)
    assert versions.convert(alpha, V1)["spec"]["pages"] == [{"text": "x", "weight": 2.0}]
    alpha["spec"]["words"] = ["y"]
    assert versions.convert(alpha, V1)["spec"]["pages"] == [{"text": "y", "weight": 1.0}]


@pytest.mark.parametrize("spoilt", ["", "{", "[]", '{".spec.color":7}', '{".spec.color":{"was":{"deep":1}}}', "null"])
def test_an_invalid_annotation_is_ignored(spoilt: str) -> None:
    """Any client may write annotations: a list of all websites must not fail because of one."""
    beta = _website(BETA, replicas=1)
    beta["metadata"]["annotations"] = {KEPT: spoilt}
    made = Versions(ALL).convert(beta, V1)
    assert made["spec"] == {"copies": 1}


def test_an_annotation_sets_only_preserved_fields() -> None:
    """An annotation must not bypass the schema of the version that is written."""
    beta = _website(BETA, replicas=1)
    beta["metadata"]["annotations"] = {KEPT: '{".spec.memory":{"was":"1Gi"},".spec.color":{"was":"red"}}'}
    assert Versions(ALL).convert(beta, V1)["spec"] == {"copies": 1, "color": "red"}


def test_versions_are_converted_through_the_hub() -> None:
    """With n versions, n pairs of functions are enough."""
    made = Versions(ALL).convert(_website(BETA, replicas=1, host="a.dev", pages=[{"text": "x"}]), ALPHA)
    assert made["spec"] == {"words": ["x"], "domain": "a.dev"}


def test_an_absent_status_stays_absent() -> None:
    """A new object has none; a conversion must not add one."""
    assert "status" not in Versions(ALL).convert(_website(words=["a"]) | {"apiVersion": ALPHA}, V1)


def test_an_unknown_version_is_an_error_that_lists_the_known_ones() -> None:
    """It is usually a typo."""
    with pytest.raises(ConversionError, match=r"no version 'web.example.com/v9' of Website.web.example.com: there are"):
        Versions(ALL).convert(_website(), f"{GROUP}/v9")


class Spec(Model):
    """One field."""

    size: int = 1


class OtherSpec(Model):
    """The same field, under another name."""

    length: int = 1


def _pair(kinds: Registry, other: type[Model] = Spec) -> tuple[Any, Any]:
    """Declare two versions of a kind for the test."""

    class Thing(Resource[Spec, Status]):
        """A thing."""

    class NewThing(Resource[other, Status]):  # type: ignore[valid-type] # the spec is a parameter here
        """A new thing."""

    one = custom_resource("x.dev/v1", kind="Thing", storage=True, into=kinds)(Thing)
    return one, custom_resource("x.dev/v2", kind="Thing", into=kinds)(NewThing)


def _thing(version: str, **spec: Any) -> Document:
    return {"apiVersion": f"x.dev/{version}", "kind": "Thing", "metadata": {"name": "a"}, "spec": spec}


def test_versions_without_conversions_must_have_equal_schemas() -> None:
    """A server without a webhook changes only the apiVersion, and drops unknown fields."""
    check_round_trips(Versions(_pair(Registry())))
    with pytest.raises(DeclarationError, match=r"v1 → v2 → v1: .spec.size of Thing is lost"):
        check_round_trips(Versions(_pair(Registry(), OtherSpec)))


def test_a_function_that_drops_a_field_is_detected_before_it_runs() -> None:
    """The message says which field, in which conversion, and what to write."""
    one, other = _pair(Registry(), OtherSpec)
    converts(one, other)(lambda old: other(old.metadata, OtherSpec(), old.status))
    converts(other, one)(lambda new: one(new.metadata, Spec(size=new.spec.length), new.status))
    with pytest.raises(AssertionError) as caught:
        assert_round_trips(one, other)
    assert "v1 → v2 → v1: .spec.size of Thing is lost" in str(caught.value)
    assert '@converts(Thing, NewThing, keeps=[".spec.size"])' in str(caught.value)


def test_labels_that_a_function_forgets_are_a_loss() -> None:
    """Authors forget the metadata first."""
    one, other = _pair(Registry())
    converts(one, other)(lambda old: other(meta(old.name), old.spec))
    converts(other, one)(lambda new: one(new.metadata, new.spec, new.status))
    with pytest.raises(AssertionError, match=r"\.metadata\.annotations\.example\.com/annotation"):
        assert_round_trips(one, other)


def test_an_exception_of_a_function_names_the_object() -> None:
    """A list of a thousand fails because of one object: the error must name it."""
    one, other = _pair(Registry())

    @converts(one, other)
    def fail(old: Any) -> Any:
        raise ValueError(f"size {old.spec.size} is too much")

    converts(other, one)(lambda new: one(new.metadata, new.spec, new.status))
    with pytest.raises(ConversionError, match=r"Thing a cannot become v2: .*fail raised ValueError: size 9 is too mu"):
        Versions((one, other)).convert(_thing("v1", size=9), "x.dev/v2")


def test_a_write_that_would_lose_a_field_is_rejected() -> None:
    """Generated objects do not find everything: stored objects are checked once more."""
    one, other = _pair(Registry())
    converts(one, other)(lambda old: other(old.metadata, old.spec, old.status))
    converts(other, one)(lambda new: one(new.metadata, Spec(size=min(new.spec.size, 2000)), new.status))
    assert_round_trips(one, other)
    with pytest.raises(ConversionError, match=r"Thing a cannot become v1: .spec.size would be lost"):
        Versions((one, other)).convert(_thing("v2", size=5000), "x.dev/v1")


def test_a_missing_conversion_is_reported_with_the_line_to_write() -> None:
    """Authors often write only one of the two functions."""
    one, other = _pair(Registry())
    converts(one, other)(lambda old: other(old.metadata, old.spec, old.status))
    with pytest.raises(DeclarationError, match=r"nothing converts v2 to v1: write @converts\(NewThing, Thing\)"):
        Versions((one, other))


def test_a_conversion_is_between_versions_of_one_kind_and_unique() -> None:
    """Two functions for one conversion would make the result depend on the order of imports."""
    one, other = _pair(Registry())
    with pytest.raises(DeclarationError, match="not two versions of one kind"):
        renames(one, Website, {})
    renames(one, other, {})
    with pytest.raises(DeclarationError, match="two conversions from v1 to v2 of Thing"):
        converts(one, other)(lambda old: other(old.metadata, old.spec, old.status))


@pytest.mark.parametrize("path", ["spec.size", ".spec.", ".spec.list[0].size", ""])
def test_a_path_without_a_field_is_rejected(path: str) -> None:
    """A typo would silently convert nothing."""
    one, other = _pair(Registry())
    with pytest.raises(DeclarationError, match="is not the path of a field"):
        renames(one, other, {path: ".spec.size"})


def test_exchanged_names_do_not_overwrite_each_other() -> None:
    """Both values are removed before one is set."""

    class Pair(Model):
        left: int = 1
        right: int = 2

    class One(Resource[Pair, Status]):
        """One."""

    class Two(Resource[Pair, Status]):
        """Two."""

    kinds = Registry()
    one = custom_resource("x.dev/v1", kind="Pair", storage=True, into=kinds)(One)
    two = custom_resource("x.dev/v2", kind="Pair", into=kinds)(Two)
    renames(one, two, {".spec.left": ".spec.right", ".spec.right": ".spec.left"})
    document = {"apiVersion": "x.dev/v1", "kind": "Pair", "metadata": {"name": "a"}, "spec": {"left": 1, "right": 2}}
    assert Versions((one, two)).convert(document, "x.dev/v2")["spec"] == {"left": 2, "right": 1}


def test_hints_distinguish_classes_of_equal_names() -> None:
    """The scaffold gives the classes of all versions one name: "one of CustomPod, CustomPod" would not help."""
    one, other = _pair(Registry(), OtherSpec)
    for kind, module in ((one, "shop.api.thing_v1"), (other, "shop.api.thing_v2")):
        kind.__name__ = kind.__qualname__ = "Thing"
        kind.__module__ = module
    with pytest.raises(DeclarationError, match=r"@converts\(thing_v1\.Thing, thing_v2\.Thing, keeps"):
        check_round_trips(Versions((one, other)))
    converts(one, other)(lambda old: other(old.metadata, old.spec, old.status))
    with pytest.raises(DeclarationError, match=r"write @converts\(thing_v2\.Thing, thing_v1\.Thing\)"):
        Versions((one, other))
    with pytest.raises(DeclarationError, match=r"Thing v1\b.*Thing v2\b"):
        crd_of(one, custom_resource("x.dev/v2", kind="Thing", storage=True, into=Registry())(other))
