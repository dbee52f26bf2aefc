import pytest

from steersman.errors import DecodeError
from steersman.kinds.apps_v1 import Deployment
from steersman.kinds.core_v1 import LimitRange, Pod
from steersman.kinds.events_v1 import Event
from steersman.objects.codec import bytes_read, decode
from steersman.objects.resource import PartialObjectMetadata


def test_null_for_a_required_list_is_an_empty_list() -> None:
    """Go writes a nil slice as null, even where the schema requires a list; recorded from a real server."""
    data = b'{"metadata":{"name":"a"},"spec":{"limits":null}}'
    obj = decode(LimitRange, data)
    assert obj.spec.limits == []
    assert bytes_read(obj) == data


def test_null_metadata_members_are_absent() -> None:
    """Handwritten manifests contain ``labels:`` without a value."""
    obj = decode(PartialObjectMetadata, b'{"metadata":{"name":"a","labels":null,"ownerReferences":null}}')
    assert obj.labels == {}
    assert obj.controller is None


def test_null_deep_inside_lists_and_maps_is_replaced() -> None:
    """The same holds at every depth."""
    data = (
        b'{"metadata":{"name":"a"},"spec":{"selector":{},"template":{"metadata":null,"spec":{"containers":'
        b'[{"name":"c","env":null,"resources":{"limits":{"cpu":"1"}}}],"initContainers":null}}},"status":null}'
    )
    obj = decode(Deployment, data)
    assert obj.spec.template.spec is not None
    assert [one.name for one in obj.spec.template.spec.containers] == ["c"]
    assert obj.status.replicas is None


def test_null_time_is_absent() -> None:
    """An event that came through the old API has ``eventTime: null``."""
    assert decode(Event, b'{"metadata":{"name":"a"},"eventTime":null}').event_time is None


def test_null_for_a_required_struct_is_empty_and_reports_the_missing_field() -> None:
    """The error names the first field that is really missing."""
    with pytest.raises(DecodeError, match="containers"):
        decode(Pod, b'{"metadata":{"name":"a"},"spec":null}')


def test_wrong_type_beside_a_null_is_still_an_error() -> None:
    """Replacing nulls must not hide other mistakes."""
    with pytest.raises(DecodeError, match=r"spec\.containers"):
        decode(Pod, b'{"metadata":{"name":"a","labels":null},"spec":{"containers":3}}')
    with pytest.raises(DecodeError, match="name"):
        decode(Pod, b'{"metadata":{"name":"a"},"spec":{"containers":[{"name":null}]}}')
