from tests.apiserver.api import BOATS, DEFINITIONS, Api, boat, definition


async def test_a_crd_is_served_when_its_create_returns() -> None:
    """Clients need not wait, and watchers still see every step of a real server."""
    api = Api()
    async with api.watching(f"{DEFINITIONS}?watch=1") as events:
        await api.define()
        assert (await api.send("POST", BOATS, boat("a"))).status == 201
        await api.clock.settle()
    states = [event["object"]["status"]["conditions"] for event in events.all]
    assert states[0] is None
    assert [(item["type"], item["status"]) for item in states[1]] == [
        ("NamesAccepted", "True"),
        ("Established", "False"),
    ]
    assert [(item["type"], item["status"]) for item in states[2]] == [
        ("NamesAccepted", "True"),
        ("Established", "True"),
    ]


async def test_a_deleted_crd_takes_its_objects_along() -> None:
    """Its group disappears from discovery, and its watches end."""
    api = Api()
    await api.define()
    await api.send("POST", BOATS, boat("a"))
    async with api.watching(f"{BOATS}?watch=1") as events:
        await api.send("DELETE", f"{DEFINITIONS}/boats.sea.dev")
        await api.clock.settle()
        assert len(api.server.hub) == 0
    assert events.brief == [("ADDED", "a"), ("DELETED", "a")]
    assert (await api.send("GET", BOATS)).status == 404
    groups = [group["name"] for group in (await api.ask("GET", "/apis"))["groups"]]
    assert "sea.dev" not in groups


async def test_an_object_is_served_in_every_version_with_its_own_schema() -> None:
    """Without a webhook, a version shows the stored fields that it knows; defaults come from the stored version."""
    api = Api()
    crd = definition()
    (first,) = crd["spec"]["versions"]
    schema = {
        "type": "object",
        "properties": {"spec": {"type": "object", "properties": {"crew": {"type": "integer", "default": 3}}}},
    }
    crd["spec"]["versions"].append({**first, "name": "v2", "storage": False, "schema": {"openAPIV3Schema": schema}})
    assert (await api.send("POST", DEFINITIONS, crd)).status == 201
    await api.send("POST", BOATS, boat("a", sails=4))
    newer_boats = BOATS.replace("/v1/", "/v2/")
    newer = await api.ask("GET", f"{newer_boats}/a")
    assert (newer["apiVersion"], newer["spec"]) == ("sea.dev/v2", {})
    assert (await api.ask("GET", f"{BOATS}/a"))["spec"] == {"sails": 4}


async def test_stored_objects_follow_a_changed_schema() -> None:
    """Reads prune and set defaults again: a new default shows at once, a dropped field disappears."""
    api = Api()
    await api.define()
    await api.send("POST", BOATS, boat("a", sails=4))
    crd = await api.ask("GET", f"{DEFINITIONS}/boats.sea.dev")
    spec = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    spec["properties"] = {"oars": {"type": "integer", "default": 2}}
    assert (await api.send("PUT", f"{DEFINITIONS}/boats.sea.dev", crd)).status == 200
    assert (await api.ask("GET", f"{BOATS}/a"))["spec"] == {"oars": 2}
    listed = await api.ask("GET", BOATS)
    assert listed["items"][0]["spec"] == {"oars": 2}


async def test_the_deleted_event_follows_the_current_schema() -> None:
    """The event has a new version, but the object in it was stored under the old schema."""
    api = Api()
    await api.define()
    await api.send("POST", BOATS, boat("a", sails=4))
    crd = await api.ask("GET", f"{DEFINITIONS}/boats.sea.dev")
    spec = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    spec["properties"] = {"oars": {"type": "integer", "default": 2}}
    await api.send("PUT", f"{DEFINITIONS}/boats.sea.dev", crd)
    version = (await api.ask("GET", BOATS))["metadata"]["resourceVersion"]
    await api.send("DELETE", f"{BOATS}/a")
    async with api.watching(f"{BOATS}?watch=1&resourceVersion={version}") as events:
        await api.clock.settle()
    assert [(event["type"], event["object"]["spec"]) for event in events.all] == [("DELETED", {"oars": 2})]


async def test_a_second_delete_rewrites_an_object_with_the_current_schema() -> None:
    """It changes only the version, as on a real server; the next write then changes nothing."""
    api = Api()
    await api.define()
    made = await api.ask("POST", BOATS, boat("a", sails=4, finalizers=["x.dev/hold"]))
    await api.send("DELETE", f"{BOATS}/a")
    crd = await api.ask("GET", f"{DEFINITIONS}/boats.sea.dev")
    crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"] = {}
    await api.send("PUT", f"{DEFINITIONS}/boats.sea.dev", crd)
    versions = [(await api.ask("GET", f"{BOATS}/a"))["metadata"]["resourceVersion"]]
    for _ in range(2):
        await api.send("DELETE", f"{BOATS}/a")
        versions.append((await api.ask("GET", f"{BOATS}/a"))["metadata"]["resourceVersion"])
    assert made["metadata"]["resourceVersion"] != versions[0] != versions[1] == versions[2]


async def test_watches_end_only_when_the_schema_changes() -> None:
    """A watcher must not get objects of an outdated schema; a label on the CRD does not change the schema."""
    api = Api()
    await api.define()
    async with api.watching(f"{BOATS}?watch=1"):
        crd = await api.ask("GET", f"{DEFINITIONS}/boats.sea.dev")
        crd["metadata"]["labels"] = {"a": "b"}
        crd = await api.ask("PUT", f"{DEFINITIONS}/boats.sea.dev", crd)
        assert len(api.server.hub) == 1
        crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["description"] = "Floats."
        await api.send("PUT", f"{DEFINITIONS}/boats.sea.dev", crd)
        assert len(api.server.hub) == 0


async def test_a_name_already_in_use_is_not_accepted() -> None:
    """Two CRDs of one group cannot share a kind; the second is not served."""
    api = Api()
    await api.define()
    other = definition()
    other["metadata"]["name"] = "ships.sea.dev"
    other["spec"]["names"] = {"plural": "ships", "kind": "Boat"}
    assert (await api.send("POST", DEFINITIONS, other)).status == 201
    status = (await api.ask("GET", f"{DEFINITIONS}/ships.sea.dev"))["status"]
    assert [(item["type"], item["status"]) for item in status["conditions"]] == [
        ("NamesAccepted", "False"),
        ("Established", "False"),
    ]
    assert (await api.send("GET", BOATS.replace("boats", "ships"))).status == 404


async def test_openapi_documents_are_named_by_a_hash_of_their_content() -> None:
    """Clients cache documents for a year: a changed schema needs another hash, an unchanged one the same."""
    api = Api()
    path = "apis/sea.dev/v1"
    await api.define()
    first = (await api.ask("GET", "/openapi/v3"))["paths"][path]["serverRelativeURL"]
    assert (await api.ask("GET", "/openapi/v3"))["paths"][path]["serverRelativeURL"] == first
    answer = await api.send("GET", first)
    assert answer.header("cache-control") == "public, immutable"
    crd = await api.ask("GET", f"{DEFINITIONS}/boats.sea.dev")
    crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["description"] = "Floats."
    await api.send("PUT", f"{DEFINITIONS}/boats.sea.dev", crd)
    second = (await api.ask("GET", "/openapi/v3"))["paths"][path]["serverRelativeURL"]
    assert second != first
    moved = await api.send("GET", first)
    assert (moved.status, moved.header("location")) == (301, second)


async def test_an_update_that_changes_nothing_still_migrates_the_stored_version() -> None:
    """Storage migration depends on it: a real server writes only if the encoded object differs."""
    api = Api()
    crd = definition()
    (first,) = crd["spec"]["versions"]
    crd["spec"]["versions"].append({**first, "name": "v2", "storage": False})
    assert (await api.send("POST", DEFINITIONS, crd)).status == 201
    before = await api.ask("POST", BOATS, boat("a", sails=4))
    crd = await api.ask("GET", f"{DEFINITIONS}/boats.sea.dev")
    for version in crd["spec"]["versions"]:
        version["storage"] = version["name"] == "v2"
    assert (await api.send("PUT", f"{DEFINITIONS}/boats.sea.dev", crd)).status == 200
    merge = {"content_type": "application/merge-patch+json"}
    moved = await api.ask("PATCH", f"{BOATS}/a", {}, **merge)
    assert moved["metadata"]["resourceVersion"] != before["metadata"]["resourceVersion"]
    assert moved["metadata"]["generation"] == 1
    again = await api.ask("PATCH", f"{BOATS}/a", {}, **merge)
    assert again["metadata"]["resourceVersion"] == moved["metadata"]["resourceVersion"]
