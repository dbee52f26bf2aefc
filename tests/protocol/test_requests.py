"""Requests as values: paths, queries, headers and bodies as kubectl was seen to send them."""

from urllib.parse import parse_qsl, urlsplit

import pytest

from steersman.objects.identity import ApiResource, GroupVersionKind, ObjectKey
from steersman.protocol.http import Request
from steersman.protocol.options import (
    ApplyOptions,
    DeleteOptions,
    ListOptions,
    LogOptions,
    Preconditions,
    WatchOptions,
    WriteOptions,
)
from steersman.protocol.requests import PatchType, Requests

WIDGETS = Requests(ApiResource(gvk=GroupVersionKind("demo.dev", "v1", "Widget"), plural="widgets"))
PODS = Requests(ApiResource(gvk=GroupVersionKind("", "v1", "Pod"), plural="pods"))
ACCOUNTS = Requests(ApiResource(gvk=GroupVersionKind("", "v1", "ServiceAccount"), plural="serviceaccounts"))
NAMESPACES = Requests(ApiResource(gvk=GroupVersionKind("", "v1", "Namespace"), plural="namespaces", namespaced=False))
ROLES = Requests(
    ApiResource(
        gvk=GroupVersionKind("rbac.authorization.k8s.io", "v1", "ClusterRole"), plural="clusterroles", namespaced=False
    )
)
W1 = ObjectKey("default", "w1")
STRICT = WriteOptions(field_manager="kubectl-create", field_validation="Strict")

#: Lines of a recording of kubectl (method and target), and the same request here.
KUBECTL: list[tuple[str, Request]] = [
    (
        "POST /apis/demo.dev/v1/namespaces/default/widgets?fieldManager=kubectl-create&fieldValidation=Strict",
        WIDGETS.create("default", b"{}", STRICT),
    ),
    (
        "POST /api/v1/namespaces?fieldManager=kubectl-create&fieldValidation=Strict",
        NAMESPACES.create("", b"{}", STRICT),
    ),
    (
        (
            "GET /apis/demo.dev/v1/namespaces/default/widgets?allowWatchBookmarks=true&fieldSelector=metadata.name%3Dw1"
            "&resourceVersionMatch=NotOlderThan&sendInitialEvents=true&timeoutSeconds=598&watch=true"
        ),
        WIDGETS.watch(
            "default",
            WatchOptions(field_selector="metadata.name=w1", send_initial_events=True, timeout_seconds=598),
        ),
    ),
    (
        "GET /apis/demo.dev/v1/namespaces/default/widgets?resourceVersion=10887&watch=true",
        WIDGETS.watch("default", WatchOptions(resource_version="10887", allow_bookmarks=False)),
    ),
    (
        "GET /apis/demo.dev/v1/widgets?labelSelector=app%3Dx&limit=500",
        WIDGETS.list("", ListOptions(label_selector="app=x", limit=500)),
    ),
    ("GET /api/v1/namespaces/default/pods?limit=500", PODS.list("default", ListOptions(limit=500))),
    (
        "PATCH /apis/demo.dev/v1/namespaces/default/widgets/w1?fieldManager=other&fieldValidation=Strict&force=true",
        WIDGETS.patch(
            W1, PatchType.APPLY, b"{}", ApplyOptions(field_manager="other", field_validation="Strict", force=True)
        ),
    ),
    (
        "PATCH /apis/demo.dev/v1/namespaces/default/widgets/w1/status?fieldManager=kubectl-patch",
        WIDGETS.patch(W1, PatchType.MERGE, b"{}", WriteOptions(field_manager="kubectl-patch"), subresource="status"),
    ),
    (
        "PATCH /apis/demo.dev/v1/namespaces/default/widgets/w1?dryRun=All&fieldManager=kubectl-client-side-apply",
        WIDGETS.patch(
            W1, PatchType.MERGE, b"{}", WriteOptions(field_manager="kubectl-client-side-apply", dry_run=True)
        ),
    ),
    (
        "PUT /apis/demo.dev/v1/namespaces/default/widgets/w1?fieldManager=kubectl-replace&fieldValidation=Strict",
        WIDGETS.update(W1, b"{}", WriteOptions(field_manager="kubectl-replace", field_validation="Strict")),
    ),
    ("GET /apis/demo.dev/v1/namespaces/default/widgets/w1/scale", WIDGETS.get(W1, subresource="scale")),
    (
        "POST /api/v1/namespaces/default/serviceaccounts/default/token",
        ACCOUNTS.create_subresource(ObjectKey("default", "default"), "token", b"{}"),
    ),
    ("DELETE /apis/demo.dev/v1/namespaces/default/widgets/w1", WIDGETS.delete(W1)),
    ("DELETE /api/v1/namespaces/foo", NAMESPACES.delete(ObjectKey("", "foo"))),
    (
        "DELETE /apis/demo.dev/v1/namespaces/default/widgets?labelSelector=foo%3Dbar",
        WIDGETS.delete_collection("default", ListOptions(label_selector="foo=bar")),
    ),
    (
        "GET /api/v1/namespaces/default/pods/p1/log?container=c&follow=true&tailLines=5",
        PODS.log(ObjectKey("default", "p1"), LogOptions(container="c", follow=True, tail_lines=5)),
    ),
]


@pytest.mark.parametrize(("line", "request_"), KUBECTL, ids=[line.partition("?")[0] for line, _ in KUBECTL])
def test_requests_are_those_that_kubectl_sends(line: str, request_: Request) -> None:
    """The order of query parameters does not matter."""
    method, _, target = line.partition(" ")
    wanted, built = urlsplit(target), urlsplit(request_.target)
    assert (request_.method, built.path) == (method, wanted.path)
    assert sorted(parse_qsl(built.query)) == sorted(parse_qsl(wanted.query))


@pytest.mark.parametrize("kind", PatchType)
def test_content_type_names_the_format_of_a_patch(kind: PatchType) -> None:
    """The server interprets the body by it."""
    options = ApplyOptions(field_manager="m") if kind is PatchType.APPLY else WriteOptions()
    assert WIDGETS.patch(W1, kind, b"{}", options).headers["content-type"] == kind.value


def test_apply_needs_its_own_options() -> None:
    """Without a field manager the server rejects an apply; force is valid only there."""
    with pytest.raises(ValueError, match="APPLY"):
        WIDGETS.patch(W1, PatchType.APPLY, b"{}", WriteOptions(field_manager="m"))
    with pytest.raises(ValueError, match="MERGE"):
        WIDGETS.patch(W1, PatchType.MERGE, b"{}", ApplyOptions(field_manager="m"))


def test_delete_options_are_sent_in_the_body() -> None:
    """Preconditions cannot be sent otherwise."""
    options = DeleteOptions(
        propagation_policy="Foreground",
        preconditions=Preconditions(uid="u", resource_version="5"),
        grace_period_seconds=0,
        dry_run=True,
    )
    request = WIDGETS.delete(W1, options)
    assert request.body == (
        b'{"propagationPolicy":"Foreground","preconditions":{"uid":"u","resourceVersion":"5"},'
        b'"gracePeriodSeconds":0,"dryRun":["All"]}'
    )
    assert request.headers["content-type"] == "application/json"


def test_delete_without_options_has_no_body() -> None:
    """A content type without content would only confuse proxies."""
    request = WIDGETS.delete(W1)
    assert (request.body, request.headers) == (b"", {"accept": "application/json"})


def test_metadata_only_can_be_requested_for_reads() -> None:
    """Callers that need only labels and owners should not pay for the rest."""
    requests = Requests(WIDGETS.resource, metadata_only=True)
    assert "as=PartialObjectMetadata;" in requests.get(W1).headers["accept"]
    assert "as=PartialObjectMetadata;" in requests.watch("", WatchOptions()).headers["accept"]
    assert "as=PartialObjectMetadataList;" in requests.list("").headers["accept"]


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "a%2fb", "../../secrets/x"])
def test_name_that_would_change_the_path_is_rejected(name: str) -> None:
    """A name from outside must never reach another object, or the whole collection."""
    with pytest.raises(ValueError, match="cannot be part of a URL path"):
        WIDGETS.delete(ObjectKey("default", name))
    with pytest.raises(ValueError, match=r"cannot be part of a URL path|namespaced"):
        WIDGETS.delete(ObjectKey(name, "a"))


@pytest.mark.parametrize(
    ("name", "path"),
    [("system:node", "system:node"), ("a b?c#d", "a%20b%3Fc%23d"), ("é", "%C3%A9"), ("~x@y", "~x@y")],
)
def test_unusual_names_are_escaped(name: str, path: str) -> None:
    """RBAC names may contain nearly any character."""
    assert ROLES.get(ObjectKey("", name)).target == f"/apis/rbac.authorization.k8s.io/v1/clusterroles/{path}"


def test_namespace_must_fit_the_scope() -> None:
    """The server would answer 404 for an invalid path; here the error is specific."""
    with pytest.raises(ValueError, match="Widget is namespaced: 'a' needs a namespace"):
        WIDGETS.get(ObjectKey("", "a"))
    with pytest.raises(ValueError, match="ClusterRole is cluster-scoped"):
        ROLES.get(ObjectKey("default", "a"))
    with pytest.raises(ValueError, match="creating one needs a namespace"):
        WIDGETS.create("", b"{}")
    with pytest.raises(ValueError, match="deleting many needs a namespace"):
        WIDGETS.delete_collection("")
