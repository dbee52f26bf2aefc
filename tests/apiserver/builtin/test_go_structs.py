import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steersman.apiserver.builtin.go_structs import message_of, struct
from steersman.objects.identity import GroupVersionKind
from steersman.validation.wire_types import Reading, WireTypeError

DEPLOYMENT = struct(message_of(GroupVersionKind("apps", "v1", "Deployment")))
POD = struct(message_of(GroupVersionKind("", "v1", "Pod")))
NAMES = st.sampled_from(
    ["metadata", "spec", "status", "name", "labels", "containers", "replicas", "template", "resources", "limits", "x"]
)
VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-3, 300), st.sampled_from(["", "a", "1Gi", "0.5", "x y"])),
    lambda inner: st.one_of(st.lists(inner, max_size=2), st.dictionaries(NAMES, inner, max_size=3)),
    max_leaves=12,
)


def read(document: Any) -> tuple[Any, list[str]]:
    """Read a Deployment."""
    reading = Reading()
    return DEPLOYMENT.read(document, "", reading), reading.unknown


def test_a_field_that_is_not_a_pointer_is_always_written() -> None:
    """`kubectl get -o yaml` shows an empty strategy and status, and a null selector."""
    made, unknown = read({"spec": {"template": {}}})
    assert made["status"] == {}
    assert made["spec"]["strategy"] == {}
    assert made["spec"]["selector"] is None
    assert made["spec"]["template"]["spec"] == {"containers": None}
    assert unknown == []


def test_unknown_fields_are_recorded_and_dropped() -> None:
    """They are errors for strict clients and warnings for others."""
    made, unknown = read({"spec": {"template": {"spec": {"containers": [{"name": "c", "zz": 1}]}}, "yy": 2}})
    assert unknown == ["spec.template.spec.containers[0].zz", "spec.yy"]
    assert "yy" not in made["spec"]


@pytest.mark.parametrize(
    ("given", "written"),
    [("0.5", "500m"), ("1000m", "1"), (2, "2"), ("1.5Gi", "1536Mi"), ("1e3", "1e3"), (0.5, "500m")],
)
def test_quantities_have_one_form(given: Any, written: str) -> None:
    """Equal quantities need the same text, or every apply of the same manifest would be a change."""
    pod = {"spec": {"containers": [{"name": "c", "resources": {"limits": {"cpu": given}}}]}}
    made = POD.read(pod, "", Reading())
    assert made["spec"]["containers"][0]["resources"]["limits"]["cpu"] == written


def test_a_wrong_type_has_the_error_message_of_go() -> None:
    """It names the field by its struct and its path."""
    with pytest.raises(WireTypeError) as caught:
        read({"spec": {"replicas": "3"}})
    assert str(caught.value) == (
        "json: cannot unmarshal string into Go struct field DeploymentSpec.spec.replicas of type int32"
    )


@given(VALUES)
def test_reading_a_read_object_again_changes_nothing(value: Any) -> None:
    """Objects are read on every write: nothing may drift."""
    try:
        once, _ = read(value)
    except WireTypeError:
        return
    twice, unknown = read(json.loads(json.dumps(once)))
    assert twice == once
    assert unknown == []


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("c", 0),
        ("abc", 0),
        ("abcda", 4),
        ("not base64", 3),
        ("a=", 1),
        ("ab=", 3),
        ("ab=c", 2),
        ("abcd=", 4),
        ("abc==", 4),
        ("ab==cd e", 4),
        ("=", 0),
        ("ä", 0),
    ],
)
def test_the_error_for_invalid_base64_has_the_position_at_which_go_stops(text: str, place: int) -> None:
    """Error messages are compared with those of a real server; the positions are those of Go's decoder."""
    secret = struct(message_of(GroupVersionKind("", "v1", "Secret")))
    with pytest.raises(WireTypeError, match=f"illegal base64 data at input byte {place}$"):
        secret.read({"data": {"k": text}}, "", Reading())
