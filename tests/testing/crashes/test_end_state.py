"""Two runs of one scenario, compared: what may differ, and what must not."""

from typing import Any

from steersman.testing.crashes.end_state import difference, normalised_texts

UID_A = "11111111-1111-4111-8111-111111111111"
UID_B = "22222222-2222-4222-8222-222222222222"


def _pod(name: str, uid: str, **more: Any) -> dict[str, Any]:
    metadata = {"name": name, "generateName": "web-", "uid": uid, "resourceVersion": "7", "managedFields": [{}]}
    return {"kind": "Pod", "metadata": {**metadata, "creationTimestamp": "2030-01-01T00:00:00Z", **more}}


def _owner(*names: str) -> dict[str, Any]:
    return {"kind": "Web", "metadata": {"name": "web", "uid": UID_A}, "status": {"podNames": list(names)}}


def _state(*documents: dict[str, Any]) -> list[str]:
    return normalised_texts(documents, documents)


def test_generated_names_are_normalised_at_any_place() -> None:
    """A generated name also occurs in the status of other objects, and inside sentences."""
    first = _state(_pod("web-abcde", UID_B), _owner("web-abcde", "created web-abcde."))
    second = _state(_pod("web-fghij", UID_B), _owner("web-fghij", "created web-fghij."))
    assert first == second
    assert "web-*" in "".join(first)


def test_a_missing_pod_is_a_difference() -> None:
    """Equal names must not hide that there are fewer of them."""
    two = _state(_pod("web-abcde", UID_B), _pod("web-fghij", UID_A))
    one = _state(_pod("web-abcde", UID_B))
    assert "-" in difference(two, one)
    assert difference(two, two) == ""


def test_uids_versions_and_times_do_not_matter() -> None:
    """No two runs share them."""
    later = _pod("web-abcde", UID_A, creationTimestamp="2031-01-01T00:00:00.123456Z", resourceVersion="9")
    assert _state(_pod("web-abcde", UID_B)) == _state(later)


def test_the_object_of_a_uid_matters() -> None:
    """A child of a deleted owner is not the child of the existing one."""
    held = _pod("web-abcde", UID_B, ownerReferences=[{"uid": UID_A}])
    lost = _pod("web-abcde", UID_B, ownerReferences=[{"uid": "33333333-3333-4333-8333-333333333333"}])
    assert "a deleted object" in difference(_state(_owner(), held), _state(_owner(), lost))


def test_names_derived_from_a_uid_do_not_matter() -> None:
    """Many operators name children by the first part of their owner's uid."""

    def state(uid: str) -> list[str]:
        owner = {"kind": "Web", "metadata": {"name": "web", "uid": uid}}
        return _state(owner, {"kind": "Task", "metadata": {"name": f"web-{uid[:8]}-1", "uid": UID_B}})

    assert state(UID_A) == state("44444444-4444-4444-8444-444444444444")


def test_a_name_is_not_replaced_inside_another() -> None:
    """A name may be the prefix of another, which is not generated."""
    state = _state(_pod("web-abcde", UID_B), _owner("web-abcde-backup"))
    assert "web-abcde-backup" in "".join(state)


def _service(address: str, port: int, **spec: Any) -> dict[str, Any]:
    ports = [{"port": 80, "protocol": "TCP", "nodePort": port}]
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "web", "uid": UID_B, "managedFields": [{"fieldsV1": {"f:spec": spec}}]},
        "spec": {"clusterIP": address, "clusterIPs": [address], "ports": ports},
    }


def test_addresses_and_ports_that_the_server_assigned_do_not_matter() -> None:
    """They are random, wherever they are copied to."""
    first = _state(_service("10.0.0.9", 30001), _owner("http://10.0.0.9:80", "port 30001"))
    second = _state(_service("10.0.0.112", 32514), _owner("http://10.0.0.112:80", "port 32514"))
    assert first == second
    assert "<clusterIP of Service web>" in "".join(first)


def test_requested_addresses_and_ports_matter() -> None:
    """A field manager owns them, so the server did not assign them."""
    owned = {"f:clusterIP": {}, "f:ports": {'k:{"port":80,"protocol":"TCP"}': {"f:nodePort": {}}}}
    text = difference(_state(_service("10.0.0.9", 30001, **owned)), _state(_service("10.0.0.5", 30002, **owned)))
    assert '-    "clusterIP": "10.0.0.9"' in text
    assert '+        "nodePort": 30002' in text


def test_a_service_without_an_address_differs_from_one_that_has_one() -> None:
    """Headless is a choice, not a missing address."""
    assert "None" in difference(_state(_service("10.0.0.9", 30001)), _state(_service("None", 30001)))


def test_tokens_and_addresses_of_pods_do_not_matter() -> None:
    """A node assigns one, a key signs the other."""

    def state(token: str, address: str) -> list[str]:
        secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "robot", "uid": UID_B}}
        typed = {**secret, "type": "kubernetes.io/service-account-token", "data": {"token": token}}
        pod = {**_pod("web-abcde", UID_A), "apiVersion": "v1", "status": {"podIP": address}}
        return _state(typed, pod, _owner(address))

    assert state("ZXlKMQ==", "10.244.0.3") == state("ZXlKMg==", "10.244.0.17")
