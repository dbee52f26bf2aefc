from steersman.apiserver.builtin.go_structs import struct
from steersman.golang.empty_values import GivenList, GivenMap, ShownList, put_back, same_content, without_empties
from steersman.validation.wire_types import Reading


def test_empty_values_are_marked_only_on_request() -> None:
    """Code that does not know the marks must never see one."""
    given = {"metadata": {"name": "a"}, "binaryData": {}}
    marking, plain = Reading(keeps_empty=True), Reading()
    assert struct("core/v1.ConfigMap").read(given, "", marking)["binaryData"].__class__ is GivenMap
    assert marking.has_empty
    assert "binaryData" not in struct("core/v1.ConfigMap").read(given, "", plain)


def test_a_document_without_marks_is_the_same_document() -> None:
    """Most objects have no marks: they are not copied."""
    document = {"spec": {"containers": [{"name": "a"}]}}
    assert without_empties(document) is document


def test_a_list_that_is_always_encoded_is_null_once_it_is_stored() -> None:
    """A Role returns null for rules that were sent empty, but an empty list if it is deleted at once."""
    role = {"rules": ShownList(), "spec": {"items": GivenList(), "kept": 1}}
    assert without_empties(role) == {"rules": None, "spec": {"kept": 1}}
    assert without_empties(role, keeps_lists=True) == {"rules": [], "spec": {"kept": 1}}


def test_marks_are_restored_only_where_no_value_was_set_since() -> None:
    """A value that a webhook sets overrides what the client left empty."""
    given = {"spec": {"rules": GivenList(), "tls": GivenList(), "gone": {"deep": GivenMap()}}}
    obj = {"spec": {"tls": [{"hosts": ["a.dev"]}]}}
    put_back(obj, given)
    assert obj == {"spec": {"rules": [], "tls": [{"hosts": ["a.dev"]}]}}


def test_empty_and_absent_are_equal_content() -> None:
    """For most kinds, writing an empty list where there was none does not increase the generation."""
    assert same_content({"a": 1, "b": GivenList()}, {"a": 1})
    assert same_content(GivenMap(), None)
    assert not same_content({"a": {}}, {})
