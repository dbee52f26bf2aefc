"""Metrics of the server under the names that dashboards of clusters use."""

from tests.apiserver.api import BOATS, Api, boat

MAPS = "/api/v1/namespaces/default/configmaps"


async def metrics(api: Api) -> list[str]:
    """Return the lines of the page."""
    answer = await api.send("GET", "/metrics")
    assert answer.header("content-type").startswith("text/plain; version=0.0.4")
    return answer.body.decode().splitlines()


async def test_requests_are_counted_by_verb_resource_and_code() -> None:
    """An operator that writes in a loop, or is rejected again and again, shows here first."""
    api = Api()
    await api.define()
    await api.send("POST", BOATS, boat("a"))
    await api.send("POST", BOATS, boat("a"))
    await api.send("GET", BOATS)
    lines = await metrics(api)
    labels = 'component="apiserver",dry_run="",group="sea.dev",resource="boats",scope="resource",subresource=""'
    assert f'apiserver_request_total{{{labels},verb="POST",version="v1",code="201"}} 1' in lines
    assert f'apiserver_request_total{{{labels},verb="POST",version="v1",code="409"}} 1' in lines
    assert f'apiserver_request_duration_seconds_count{{{labels},verb="POST",version="v1"}} 2' in lines
    assert f'apiserver_request_duration_seconds_bucket{{{labels},verb="POST",version="v1",le="+Inf"}} 2' in lines
    listed = labels.replace('scope="resource"', 'scope="namespace"')
    assert f'apiserver_request_total{{{listed},verb="LIST",version="v1",code="200"}} 1' in lines


async def test_a_rejected_request_is_counted_and_no_longer_in_flight() -> None:
    """Missing permissions are the usual reason why an operator does nothing."""
    api = Api()
    await api.send("POST", f"{MAPS}/name", {})
    lines = await metrics(api)
    assert any('resource="configmaps"' in line and line.endswith('code="405"} 1') for line in lines)
    assert 'apiserver_current_inflight_requests{request_kind="mutating"} 0' in lines


async def test_invented_methods_are_counted_together() -> None:
    """A client must not fill the memory of the server, or of a Prometheus, with series."""
    api = Api()
    for number in range(20):
        await api.send(f"INVENTED{number}", MAPS)
    counted = [line for line in await metrics(api) if line.startswith("apiserver_request_total{")]
    assert [line for line in counted if "INVENTED" in line] == []
    assert sum('verb="other"' in line for line in counted) == 1


async def test_stored_objects_and_watches_are_counted() -> None:
    """Leaks of objects and of watches are found by their numbers."""
    api = Api()
    await api.define()
    await api.send("POST", BOATS, boat("a"))
    async with api.watching(f"{BOATS}?watch=true"):
        lines = await metrics(api)
    assert 'apiserver_resource_objects{group="sea.dev",resource="boats"} 1' in lines
    assert 'apiserver_longrunning_requests{group="sea.dev",resource="boats",verb="WATCH"} 1' in lines


async def test_unknown_paths_create_no_series() -> None:
    """The number of series must not depend on what clients make up."""
    api = Api()
    await api.send("GET", "/apis/made.up/v1/things")
    assert not any("made.up" in line for line in await metrics(api))
