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
def test_the_best_form_that_can_be_written_is_chosen(accept: str, expected: Form) -> None:
    """Clients list what they like best first, or weigh it."""
    assert negotiate(accept, builtin=True) == expected


@pytest.mark.parametrize("accept", ["text/html", "application/*", "APPLICATION/JSON", "garbage"])
def test_what_cannot_be_written_is_refused(accept: str) -> None:
    """Recorded: even a wildcard of one type is not understood."""
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


def test_custom_resources_know_no_strategic_merge() -> None:
    """There is no type table that could tell how lists merge."""
    strategic = "application/strategic-merge-patch+json"
    assert patch_media(strategic, builtin=True) == strategic
    with pytest.raises(Refusal) as caught:
        patch_media(strategic, builtin=False)
    assert caught.value.code == 415
