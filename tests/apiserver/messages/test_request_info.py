import pytest

from steersman.apiserver.messages.info import MalformedTarget, RequestInfo, parse_resource_path, split_target


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/api/v1/pods", RequestInfo("", "v1", "pods")),
        ("/api/v1/namespaces/a", RequestInfo("", "v1", "namespaces", name="a")),
        ("/api/v1/namespaces/a/status", RequestInfo("", "v1", "namespaces", name="a", subresource="status")),
        ("/api/v1/namespaces/a/pods", RequestInfo("", "v1", "pods", "a", in_namespace=True)),
        ("/apis/sea.dev/v1/namespaces/a/boats/x/", RequestInfo("sea.dev", "v1", "boats", "a", "x", in_namespace=True)),
        (
            "/apis/apps/v1/namespaces/a/deployments/x/scale",
            RequestInfo("apps", "v1", "deployments", "a", "x", "scale", in_namespace=True),
        ),
        ("/api/v1/watch/pods", RequestInfo("", "v1", "pods", watch=True)),
    ],
)
def test_a_path_is_parsed_into_request_info(path: str, expected: RequestInfo) -> None:
    """Every client builds paths of these shapes, some with a slash at the end."""
    assert parse_resource_path(path) == expected


@pytest.mark.parametrize("path", ["/", "/api", "/api/v1", "/apis/apps/v1", "/version", "/healthz/ping"])
def test_discovery_and_other_pages_are_not_resources(path: str) -> None:
    """They are handled elsewhere."""
    assert parse_resource_path(path) is None


def test_parameters_are_parsed_as_kubernetes_does() -> None:
    """A flag is set by anything but false and 0, even by an empty value."""
    path, query = split_target("/api/v1/pods?watch=&limit=5&dryRun=All&dryRun=x&a%20b=%2F")
    assert path == "/api/v1/pods"
    assert query.flag("watch")
    assert not query.flag("pretty")
    assert query.values["dryRun"] == ["All", "x"]
    assert query.text("a b") == "/"
    assert not split_target("/x?watch=False")[1].flag("watch")


def test_a_path_that_cannot_be_decoded_is_rejected() -> None:
    """A stray percent sign must not turn one path into another."""
    with pytest.raises(MalformedTarget):
        split_target("/api/v1/namespaces/default/configmaps/a%")
