import pytest

from steersman.apiserver.messages.negotiation import JSON, YAML, Form, body_media, negotiate, patch_media
from steersman.apiserver.status import Refusal

KUBECTL = (
    "application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json"
)


@pytest.mark.parametrize(
    ("accept", "expected"),
    [
        ("", Form()),
        ("*/*", Form()),
        ("application/json;q=0.1, application/yaml;q=0.9", Form(YAML)),
        ("application/vnd.kubernetes.protobuf, application/json", Form(JSON)),
        (KUBECTL, Form(JSON, "Table", "v1")),
        ("application/json;as=Nope;g=meta.k8s.io;v=v1,application/json", Form()),
        ("application/json;pretty=1", Form(pretty=True)),
    ],
)
def test_the_preferred_format_that_can_be_written_is_chosen(accept: str, expected: Form) -> None:
    """Clients list formats by preference, or with weights."""
    assert negotiate(accept, builtin=True) == expected


@pytest.mark.parametrize("accept", ["text/html", "application/*", "APPLICATION/JSON", "garbage"])
def test_a_format_that_cannot_be_written_is_rejected(accept: str) -> None:
    """Recorded: even a wildcard subtype is not accepted."""
    for builtin in (True, False):
        with pytest.raises(Refusal) as caught:
            negotiate(accept, builtin=builtin)
        assert caught.value.code == 406


def test_a_body_without_a_type_is_json() -> None:
    """The official Python client sends none."""
    assert body_media("") == JSON
    assert body_media("APPLICATION/JSON; charset=utf-8") == JSON
    with pytest.raises(Refusal):
        body_media("text/plain")


def test_custom_resources_do_not_support_strategic_merge() -> None:
    """There is no type information that says how lists are merged."""
    strategic = "application/strategic-merge-patch+json"
    assert patch_media(strategic, builtin=True) == strategic
    with pytest.raises(Refusal) as caught:
        patch_media(strategic, builtin=False)
    assert caught.value.code == 415
