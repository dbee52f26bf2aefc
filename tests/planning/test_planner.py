"""What a plan shows, what it never does, and what it says about what it cannot know."""

import json
from collections.abc import Awaitable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from steersman import (
    Blocked,
    Context,
    Deny,
    GroupVersionKind,
    Model,
    Operator,
    Permanent,
    Resource,
    Retry,
    Status,
    Unstructured,
    custom_resource,
    meta,
)
from steersman.apiserver.resources.request_context import User
from steersman.client import Ref, has_condition
from steersman.errors import ApiError, ConfigError, Forbidden, NotFound, WaitTimeout
from steersman.history.records import Result
from steersman.kinds.core_v1 import ConfigMap, Container, Namespace, Pod, PodSpec, Secret, Service
from steersman.kinds.events_v1 import Event
from steersman.manager.definitions import definitions_of
from steersman.manager.process.logs import quiet_logs
from steersman.objects.resource import resource_of
from steersman.planning import Plan, PlanOptions, make_plan
from steersman.planning.document import plan_document
from steersman.planning.plan import Action
from steersman.protocol.http import App, Exchange, Request, Response
from steersman.testing import Cluster, FakeClock
from steersman.transport.in_memory import InMemoryTransport
from tests.support.worlds import done, planned, world_of


class PageSpec(Model):
    """What is wanted."""

    text: str = ""
    copies: int = 1


class PageStatus(Status):
    """What is."""

    copies: int = 0


@custom_resource("planning.example.com/v1")
class Page(Resource[PageSpec, PageStatus]):
    """A page with copies."""


def page_operator(suffix: str = "") -> Operator:
    """Return an operator that keeps copies of a page in ConfigMaps."""
    operator = Operator("pages")

    @operator.reconciler(Page, owns=[ConfigMap])
    async def reconcile(page: Page, ctx: Context[Page]) -> None:
        for number in range(page.spec.copies):
            await ctx.apply(ConfigMap(meta(f"{page.name}-{number}"), data={"text": page.spec.text + suffix}))
        await ctx.prune(ConfigMap)
        page.status.copies = len(ctx.owned(ConfigMap))
        ctx.event("Copied", "it is there")
        ctx.condition("Ready", True, "Copied")  # noqa: FBT003 - reads as the condition it is

    @reconcile.cleanup
    async def cleanup(page: Page, ctx: Context[Page]) -> None:
        pass

    return operator


def page(name: str = "a", text: str = "x", copies: int = 1) -> Page:
    """Return a page."""
    return Page(meta(name), PageSpec(text=text, copies=copies))


def lines(plan: Plan) -> list[str]:
    """Return what a plan does, one line for each object."""
    return [f"{change.action} {change.object}" for change in plan.all_changes]


async def create(cluster: Cluster, *pages: Page) -> None:
    """Create pages, as a user would."""
    await cluster.install(Page)
    for one in pages:
        await cluster.client.create(one)


class Requests:
    """An app that keeps the requests which pass through it."""

    def __init__(self, cluster: Cluster) -> None:
        self._app = cluster.server
        self.seen: list[Request] = []

    def handle(self, request: Request, exchange: Exchange) -> Awaitable[None] | None:
        """Record a request, and pass it on."""
        self.seen.append(request)
        return self._app.handle(request, exchange)


async def test_a_plan_has_creates_changes_and_the_status(cluster: Cluster) -> None:
    """All that the operator would write: its children, its finalizer, its status."""
    await create(cluster, page())
    plan = await cluster.plan(page_operator())
    assert lines(plan) == ["create ConfigMap default/a-0", "change Page default/a"]
    [one] = plan.objects
    assert {field.path for field in one.changes[1].fields} >= {"metadata.finalizers", "status.copies"}
    assert (one.result, one.is_at_rest) == (Result.DONE, True)
    assert not plan.is_empty
    assert plan.exit_code == 2


@pytest.mark.parametrize("offline", [False, True])
async def test_nothing_is_written(cluster: Cluster, fake_clock: FakeClock, *, offline: bool) -> None:
    """No object, no Event, no Lease: only reads and dry runs reach the server, and offline only reads."""
    await create(cluster, page(), page("b", copies=3))
    requests = Requests(cluster)
    version = cluster.server.objects.version
    transport = InMemoryTransport(requests, clock=fake_clock)
    options = PlanOptions(offline=offline)
    plan = await make_plan([page_operator()], transport, options, clock=fake_clock, pause=fake_clock.settle)
    assert len(plan.all_changes) == 6
    assert cluster.server.objects.version == version
    assert cluster.list(Event) == []
    writes = [request for request in requests.seen if request.method != "GET"]
    assert bool(writes) is not offline
    assert all("dryRun=All" in request.target for request in writes)
    await transport.close()


async def test_after_rest_the_plan_is_empty(cluster: Cluster) -> None:
    """The smallest test of an operator: it leaves nothing to do."""
    await create(cluster, page(), page("b", copies=3))
    async with cluster.running(page_operator()):
        await cluster.settle()
    plan = await cluster.plan(page_operator())
    assert plan.is_empty, str(plan)
    assert plan.exit_code == 0
    assert [one.object.name for one in plan.objects] == ["a", "b"]


async def test_an_upgrade_shows_every_write(cluster: Cluster) -> None:
    """The upgrade oracle: the old version to rest, then the plan of the new one."""
    await create(cluster, page(), page("b"))
    async with cluster.running(page_operator()):
        await cluster.settle()
    plan = await cluster.plan(page_operator(suffix="!"))
    assert lines(plan) == ["change ConfigMap default/a-0", "change ConfigMap default/b-0"]
    [field] = plan.objects[0].changes[0].fields
    assert str(field) == "data.text x → x!"


async def test_deletes_take_what_they_own_with_them(cluster: Cluster) -> None:
    """When a cleanup has succeeded, the object is deleted, and so are those of its children that were read."""
    await create(cluster, page(copies=2))
    operator = page_operator()
    async with cluster.running(operator):
        await cluster.settle()
    await cluster.client.delete(cluster.list(Page)[0])
    plan = await cluster.plan(operator)
    assert lines(plan) == [
        "delete ConfigMap default/a-0",
        "delete ConfigMap default/a-1",
        "delete Page default/a",
    ]
    assert [change.is_cascade for change in plan.all_changes] == [True, True, False]


async def test_pruned_children_are_deleted(cluster: Cluster) -> None:
    """A delete that the operator sends is not reported as garbage collection."""
    await create(cluster, page(copies=2))
    operator = page_operator()
    async with cluster.running(operator):
        await cluster.settle()
    await cluster.client.patch(cluster.list(Page)[0], {"spec": {"copies": 1}})
    plan = await cluster.plan(operator)
    assert lines(plan) == ["delete ConfigMap default/a-1", "change Page default/a"]
    assert not plan.all_changes[0].is_cascade


async def test_later_reads_see_earlier_writes(cluster: Cluster) -> None:
    """This includes writes of another object's reconciler, and of kinds that are not watched."""
    operator = Operator("chain")

    @operator.reconciler(Page)
    async def reconcile(page: Page, ctx: Context[Page]) -> None:
        made = await ctx.get(Secret, page.name) or await ctx.create(Secret(meta(page.name), data={"k": b"v"}))
        found = await ctx.client.get(Secret, page.name, page.namespace)
        await ctx.patch(found, {"metadata": {"labels": {"seen": "yes"}}})
        listed = [one async for one in ctx.client.list(Secret, label_selector="seen=yes")]
        page.status.copies = len(listed)
        assert made.uid == found.uid

    await create(cluster, page())
    plan = await cluster.plan(operator)
    assert not plan.failures, str(plan)
    assert lines(plan) == ["change Page default/a", "create Secret default/a"]
    assert [field.after for field in plan.all_changes[0].fields if field.path == "status.copies"] == ["1"]
    assert plan.all_changes[1].judged_locally == "it exists only in this plan"


async def test_objects_in_a_planned_namespace_are_planned(cluster: Cluster) -> None:
    """The live server would refuse them: it does not have the namespace."""
    operator = Operator("tenants")

    @operator.reconciler(Page)
    async def reconcile(page: Page, ctx: Context[Page]) -> None:
        await ctx.apply(Namespace(meta(f"tenant-{page.name}")), owned=False)
        await ctx.apply(ConfigMap(meta("settings", namespace=f"tenant-{page.name}")), owned=False)

    await create(cluster, page())
    plan = await cluster.plan(operator)
    assert not plan.failures, str(plan)
    assert "create ConfigMap tenant-a/settings" in lines(plan)


async def test_the_live_server_refuses_in_a_plan_what_it_would_refuse(cluster: Cluster) -> None:
    """Admission of other programs counts: the plan fails where the operator would."""
    guard = Operator("guard")

    @guard.validate(ConfigMap)
    async def good(config_map: ConfigMap, _ctx: object) -> None:
        if (config_map.data or {}).get("text") == "bad":
            raise Deny("text must not be bad")

    async with cluster.running(guard):
        await create(cluster, page(text="bad"), page("b"))
        plan = await cluster.plan(page_operator())
    [failed] = plan.failures
    assert failed.object.name == "a"
    assert "text must not be bad" in failed.message
    assert plan.exit_code == 1
    assert "create ConfigMap default/b-0" in lines(plan)


async def test_a_plan_has_the_permissions_of_its_user(cluster: Cluster, fake_clock: FakeClock) -> None:
    """A user who may not write is told so, by the object."""
    await create(cluster, page())
    reader = cluster.server.acting_as(User("reader", ("system:authenticated",)))
    transport = InMemoryTransport(reader, clock=fake_clock)
    with pytest.raises(Forbidden, match=r"pages\.planning\.example\.com"):
        await make_plan([page_operator()], transport, clock=fake_clock, pause=fake_clock.settle)
    await transport.close()


async def test_a_kind_that_is_not_served_ends_the_plan(cluster: Cluster) -> None:
    """Waiting for its cache would not help."""
    operator = page_operator()
    with pytest.raises(NotFound):
        await cluster.plan(operator, options=PlanOptions(definitions=False))


async def test_a_reconciler_that_never_rests_is_reported(cluster: Cluster) -> None:
    """Every run changes something: the plan says so instead of running forever."""
    operator = Operator("restless")

    @operator.reconciler(Page, owns=[ConfigMap])
    async def reconcile(page: Page, ctx: Context[Page]) -> None:
        known = await ctx.get(ConfigMap, page.name)
        number = int((known.data or {})["n"]) + 1 if known is not None else 0
        await ctx.apply(ConfigMap(meta(page.name), data={"n": str(number)}))
        ctx.requeue_after(1)

    await create(cluster, page())
    plan = await cluster.plan(operator)
    [one] = plan.failures
    assert not one.is_at_rest
    assert "does not come to rest: still changes configmaps default/a after " in str(plan)
    assert plan.exit_code == 1


async def test_steps_that_a_timer_separates_are_all_planned(cluster: Cluster, fake_clock: FakeClock) -> None:
    """No time passes, but a run that changed something and asks for another gets it."""
    operator = Operator("steps")

    @operator.reconciler(Page)
    async def reconcile(page: Page, ctx: Context[Page]) -> None:
        for name in ("one", "two", "three"):
            if await ctx.client.try_get(ConfigMap, name, page.namespace) is None:
                await ctx.create(ConfigMap(meta(name)))
                ctx.requeue_after(60)
                return
        ctx.requeue_after(60)

    @reconcile.cleanup
    async def cleanup(_page: Page, _ctx: Context[Page]) -> None:
        """Do nothing; declaring it adds a finalizer, whose event must not cause a run."""

    await create(cluster, page())
    now = fake_clock.now()
    plan = await cluster.plan(operator)
    assert [line for line in lines(plan) if "ConfigMap" in line] == [
        "create ConfigMap default/one",
        "create ConfigMap default/three",
        "create ConfigMap default/two",
    ]
    assert plan.objects[0].is_at_rest
    assert fake_clock.now() == now


@pytest.mark.parametrize(
    ("raised", "result", "said"),
    [
        (Retry("the database starts", after=5), Result.RETRY, "tries again later: the database starts"),
        (Permanent("Bad", "no such size"), Result.GAVE_UP, "gives up: Bad: no such size"),
        (Blocked("Missing", "no login", kind=Secret, name="login"), Result.WAITING, "waits for Secret default/login"),
        (KeyError("oops"), Result.FAILED, "fails: KeyError: 'oops'"),
    ],
)
async def test_how_a_run_ends_is_shown(cluster: Cluster, raised: Exception, result: Result, said: str) -> None:
    """A reader of a plan needs to know why it ends there."""
    operator = Operator("ends")

    @operator.reconciler(Page, report_failures=False)
    async def reconcile(_page: Page, _ctx: Context[Page]) -> None:
        raise raised

    await create(cluster, page())
    plan = await cluster.plan(operator)
    assert plan.objects[0].result is result
    assert said in str(plan)


async def test_a_live_object_that_changes_meanwhile_is_read_again(cluster: Cluster) -> None:
    """Another writer between the plan's read and its write: the next run sees the new object."""
    operator = Operator("late")
    seen: list[dict[str, str]] = []

    @operator.reconciler(Page)
    async def reconcile(page: Page, ctx: Context[Page]) -> None:
        target = await ctx.client.get(ConfigMap, "shared", page.namespace)
        seen.append(dict(target.data or {}))
        if len(seen) == 1:
            await cluster.client.patch(target, {"data": {"other": "yes"}})
        target.data = {**(target.data or {}), "mine": "yes"}
        await ctx.update(target)

    await cluster.client.create(ConfigMap(meta("shared")))
    await create(cluster, page())
    plan = await cluster.plan(operator)
    assert seen[:2] == [{}, {"other": "yes"}]
    [change] = [change for change in plan.all_changes if change.object.kind == "ConfigMap"]
    assert [str(field) for field in change.fields] == ["data.mine yes"]


async def test_plain_functions_are_planned(cluster: Cluster) -> None:
    """They run in threads, and their writes still belong to the object of their run."""
    operator = Operator("threads")

    @operator.reconciler(Page, owns=[ConfigMap], workers=2)
    def reconcile(page: Page, ctx: Context[Page]) -> None:
        ctx.wait(ctx.apply(ConfigMap(meta(page.name), data={"text": page.spec.text})))

    await create(cluster, page("a"), page("b"))
    plan = await cluster.plan(operator)
    found = {one.object.name: [str(change.object) for change in one.changes] for one in plan.objects}
    assert found == {name: [f"ConfigMap default/{name}", f"Page default/{name}"] for name in "ab"}


async def test_two_writers_of_one_object_are_planned_together(cluster: Cluster) -> None:
    """Both write it for the first time, at the same moment: neither write is lost."""
    operator = Operator("writers")

    @operator.reconciler(Page, workers=4)
    async def reconcile(page: Page, ctx: Context[Page]) -> None:
        await ctx.client.patch(Ref(ConfigMap, "shared"), {"data": {page.name: page.spec.text}})

    await cluster.client.create(ConfigMap(meta("shared")))
    await create(cluster, page("a"), page("b"), page("c"))
    plan = await cluster.plan(operator)
    [change] = [change for change in plan.all_changes if change.object.kind == "ConfigMap"]
    assert sorted(str(field) for field in change.fields) == ["data.a x", "data.b x", "data.c x"]


async def test_an_operator_may_create_what_it_may_not_read(cluster: Cluster, fake_clock: FakeClock) -> None:
    """The plan reads an object before it is created; if that read is forbidden, the create is still planned."""
    operator = Operator("blind")

    @operator.reconciler(Page)
    async def reconcile(page: Page, ctx: Context[Page]) -> None:
        await ctx.create(Secret(meta(page.name), data={"k": b"v"}))

    await create(cluster, page())
    transport = InMemoryTransport(Unreadable(cluster.server, "/secrets/"), clock=fake_clock)
    plan = await make_plan([operator], transport, clock=fake_clock, pause=fake_clock.settle)
    await transport.close()
    assert "create Secret default/a" in lines(plan)


async def test_a_definition_that_changes_is_part_of_the_plan(cluster: Cluster) -> None:
    """Its objects are judged by the new definition: the live server would drop the new field."""
    [definition] = definitions_of([Page])
    [version] = definition.content["spec"]["versions"]
    del version["schema"]["openAPIV3Schema"]["properties"]["status"]["properties"]["copies"]
    await cluster.client.wait_established(await cluster.client.create(definition))
    await cluster.client.create(page())
    plan = await cluster.plan(page_operator())
    assert lines(plan)[0] == "change CustomResourceDefinition pages.planning.example.com"
    assert any("copies" in field.path for field in plan.changes[0].fields)
    change = plan.objects[0].changes[1]
    assert ("status.copies", "1") in [(field.path, field.after) for field in change.fields]
    assert change.judged_locally == "its definition differs in this plan"


async def test_an_object_that_does_not_fit_its_class_is_given_up(cluster: Cluster) -> None:
    """The operator cannot reconcile it; it marks the object, and that is in the plan."""
    await loose_definition(cluster)
    document = {"apiVersion": "planning.example.com/v1", "kind": "Page", "metadata": {"name": "a"}}
    await cluster.client.create(Unstructured({**document, "spec": {"copies": "many"}}))
    plan = await cluster.plan(page_operator(), options=PlanOptions(definitions=False))
    assert plan.objects[0].result is Result.GAVE_UP
    assert "gives up: " in str(plan)
    assert lines(plan) == ["change Page default/a"]


async def loose_definition(cluster: Cluster) -> None:
    """Install a definition that accepts any Page."""
    [definition] = definitions_of([Page])
    [version] = definition.content["spec"]["versions"]
    version["schema"]["openAPIV3Schema"] = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version.pop("additionalPrinterColumns", None)
    await cluster.client.wait_established(await cluster.client.create(definition))


async def test_kinds_whose_definition_cannot_be_read_are_planned(cluster: Cluster, fake_clock: FakeClock) -> None:
    """Few users may read definitions; what a kind is called is known to all."""
    operator = Operator("foreign")

    @operator.reconciler(ConfigMap)
    async def reconcile(config_map: ConfigMap, ctx: Context[ConfigMap]) -> None:
        kind = GroupVersionKind("planning.example.com", "v1", "Page")
        if await ctx.client.try_get(kind, config_map.name, config_map.namespace) is None:
            made = {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": {"name": config_map.name}}
            await ctx.client.create(Unstructured({**made, "spec": {"copies": 7}}))

    await loose_definition(cluster)
    await cluster.client.create(ConfigMap(meta("a")))
    hidden = Unreadable(cluster.server, "/customresourcedefinitions/")
    transport = InMemoryTransport(hidden, clock=fake_clock)
    plan = await make_plan([operator], transport, clock=fake_clock, pause=fake_clock.settle)
    await transport.close()
    assert not plan.failures, str(plan)
    assert lines(plan) == ["create Page default/a"]


async def test_a_definition_that_cannot_be_read_is_not_compared(cluster: Cluster, fake_clock: FakeClock) -> None:
    """The plan goes on by the operator's own definition, and says so."""
    await create(cluster, page())
    hidden = Unreadable(cluster.server, "/customresourcedefinitions/")
    transport = InMemoryTransport(hidden, clock=fake_clock)
    plan = await make_plan([page_operator()], transport, clock=fake_clock, pause=fake_clock.settle)
    await transport.close()
    assert lines(plan) == ["create ConfigMap default/a-0", "change Page default/a"]
    assert "pages.planning.example.com is not compared with that of the cluster" in str(plan)


class Unreadable:
    """A server that does not let its users read some objects."""

    def __init__(self, app: App, path: str) -> None:
        self._app = app
        self._path = path

    def handle(self, request: Request, exchange: Exchange) -> Awaitable[None] | None:
        """Reject reads of one object, and answer every other request."""
        if request.method == "GET" and self._path in f"{request.target}?":
            status = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Forbidden", "code": 403}
            exchange.respond(Response(403, [("content-type", "application/json")], json.dumps(status).encode()))
            return None
        return self._app.handle(request, exchange)


async def test_a_webhook_without_dry_runs_is_named(cluster: Cluster) -> None:
    """The write is checked without it, and the plan says so."""
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"], "operations": ["CREATE"]}
    webhook = {
        "name": "sees.example.com",
        "clientConfig": {"url": "https://127.0.0.1:9/"},
        "rules": [rule],
        "sideEffects": "NoneOnDryRun",
        "admissionReviewVersions": ["v1"],
    }
    configuration = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": "sees"},
        "webhooks": [webhook],
    }
    await cluster.client.create(Unstructured(configuration))
    # A server accepts no such webhook any more, but may have kept one.
    served = cluster.server.catalog.find("admissionregistration.k8s.io", "v1", "validatingwebhookconfigurations")
    assert served is not None
    [record] = cluster.server.objects.records(served)
    stored = record.decode()
    stored["webhooks"][0]["sideEffects"] = "Some"
    cluster.server.objects.put(served, stored)
    await create(cluster, page())
    plan = await cluster.plan(page_operator())
    assert not plan.failures, str(plan)
    created = plan.all_changes[0]
    assert created.judged_locally == "webhook sees.example.com does not support dry runs"
    assert "webhook sees.example.com does not support dry runs" in str(plan)


# Choosing.


async def test_objects_are_chosen_by_name_label_and_number(cluster: Cluster) -> None:
    """A large cluster is planned piece by piece."""
    await create(cluster, page("a"), page("b"), page("c"))
    await cluster.client.patch(cluster.list(Page)[1], {"metadata": {"labels": {"tier": "web"}}})

    async def names(**options: object) -> list[str]:
        plan = await cluster.plan(page_operator(), options=PlanOptions(**options))  # type: ignore[arg-type]
        return [one.object.name for one in plan.objects]

    assert await names() == ["a", "b", "c"]
    assert await names(objects=(("page", "a"), ("pages", "c"))) == ["a", "c"]
    assert await names(selector="tier=web") == ["b"]
    await cluster.client.create(Namespace(meta("other")))
    assert await names(namespaces=("other",)) == []
    assert await names(namespaces=("default", "other"), limit=1, objects=(("page", "a"), ("page", "c"))) == ["a"]
    for name, said in (("page/z", "there is no such object"), ("pod/a", "does not reconcile 'pod', only Page")):
        with pytest.raises(ConfigError, match=said):
            await names(objects=(tuple(name.split("/")),))
    limited = await cluster.plan(page_operator(), options=PlanOptions(limit=2))
    assert (len(limited.objects), limited.left_out) == (2, 1)
    assert "2 objects (1 left out) planned" in str(limited)


async def test_a_namespace_that_does_not_exist_ends_the_plan(cluster: Cluster) -> None:
    """A misspelled namespace has nothing to do, which looks like success."""
    await create(cluster, page())
    with pytest.raises(ConfigError, match="namespace 'nowhere' does not exist"):
        await cluster.plan(page_operator(), options=PlanOptions(namespaces=("nowhere",)))


async def test_a_namespace_that_may_not_be_read_is_planned(cluster: Cluster, fake_clock: FakeClock) -> None:
    """Few users may read namespaces; that one cannot be read does not mean that it does not exist."""
    await create(cluster, page())
    transport = InMemoryTransport(Unreadable(cluster.server, "/api/v1/namespaces/default?"), clock=fake_clock)
    options = PlanOptions(namespaces=("default",), offline=True, definitions=False)
    plan = await make_plan([page_operator()], transport, options, clock=fake_clock, pause=fake_clock.settle)
    assert lines(plan) == ["create ConfigMap default/a-0", "change Page default/a"]
    await transport.close()


async def test_a_selection_without_objects_is_named(cluster: Cluster) -> None:
    """As kubectl does: there is nothing to do, and the text says why."""
    await create(cluster, page())
    options = PlanOptions(namespaces=("default",), selector="tier=none")
    plan = await cluster.plan(page_operator(), options=options)
    assert plan.exit_code == 0
    assert "there is nothing to plan: no Page with labels tier=none in namespace default" in str(plan)


# What becomes of an object.


def scripted_operator(name: str = "scripted") -> Operator:
    """Return an operator that replaces, repeats and takes back what it writes."""
    operator = Operator(name)

    @operator.reconciler(Page)
    async def reconcile(page: Page, ctx: Context[Page]) -> None:
        found = await ctx.client.try_get(ConfigMap, "kept", page.namespace)
        if found is not None and found.data.get("text") != page.spec.text:
            await ctx.client.delete(found)
            await ctx.client.create(ConfigMap(meta("kept", page.namespace), data={"text": page.spec.text}))
        toggled = await ctx.client.get(ConfigMap, "toggled", page.namespace)
        await ctx.client.patch(toggled, {"metadata": {"labels": {"a": "b"}}})
        await ctx.client.patch(toggled, {"metadata": {"labels": {"a": None}}})
        scratch = await ctx.client.create(ConfigMap(meta("scratch", page.namespace)))
        await ctx.client.delete(scratch)
        same = await ctx.client.get(ConfigMap, "same", page.namespace)
        await ctx.client.patch(same, {"data": {"x": "y"}})

    return operator


async def test_an_object_that_is_deleted_and_created_again_is_replaced(cluster: Cluster) -> None:
    """The data of the old object is lost, and a changed uid alone would not tell every reader."""
    await create(cluster, page(text="new"))
    await cluster.client.create(ConfigMap(meta("kept"), data={"text": "old"}))
    await cluster.client.create(ConfigMap(meta("same"), data={"x": "y"}))
    await cluster.client.create(ConfigMap(meta("toggled", labels={"b": "c"})))
    plan = await cluster.plan(scripted_operator())
    [change] = [change for change in plan.all_changes if change.object.kind == "ConfigMap"]
    assert (change.action, str(change.object)) == (Action.REPLACE, "ConfigMap default/kept")
    assert [str(field) for field in change.fields] == ["data.text old → new"]
    text = str(plan).splitlines()
    assert text[1:3] == [
        "  -/+ ConfigMap kept  replaced: deleted and created again",
        "                      data.text  old → new",
    ]
    assert "0 creates, 1 change, 0 deletes, 1 replace." in str(plan)
    assert plan_document(plan)["summary"]["replaces"] == 1
    assert plan_document(plan)["objects"][0]["changes"][0]["action"] == "replace"


async def test_writes_that_change_nothing_are_counted_and_named(cluster: Cluster) -> None:
    """They load the server in each reconcile, and may be a mistake; the objects that differ do not show them."""
    await create(cluster, page(text="new"))
    await cluster.client.create(ConfigMap(meta("same"), data={"x": "y"}))
    await cluster.client.create(ConfigMap(meta("toggled", labels={"b": "c"})))
    plan = await cluster.plan(scripted_operator())
    assert lines(plan) == ["change Page default/a"]
    assert [(str(one.object), one.count, one.is_reverted) for one in plan.no_ops] == [
        ("ConfigMap default/same", 1, False),
        ("ConfigMap default/scratch", 2, True),
        ("ConfigMap default/toggled", 1, True),
    ]
    assert str(plan).splitlines()[-1] == (
        "4 writes change nothing: ConfigMap default/same, ConfigMap default/scratch (changed back), "
        "ConfigMap default/toggled (changed back)."
    )
    document = plan_document(plan)
    assert document["summary"]["writesWithoutEffect"] == 4
    assert document["objects"][0]["writesWithoutEffect"][0] == {
        "kind": "ConfigMap",
        "namespace": "default",
        "name": "same",
        "count": 1,
        "isReverted": False,
    }


async def test_an_operator_at_rest_applies_its_children_once(cluster: Cluster) -> None:
    """A new process does not know what an older one has applied: that is a write, and no change."""
    await create(cluster, page(copies=2))
    async with cluster.running(page_operator()):
        await cluster.settle()
    plan = await cluster.plan(page_operator())
    assert plan.is_empty
    assert str(plan).splitlines()[-1] == "2 writes change nothing: ConfigMap default/a-0, ConfigMap default/a-1."


async def test_reconcilers_of_one_name_are_kept_apart(cluster: Cluster) -> None:
    """Two operators may call their reconcilers alike, and reconcile the same objects."""

    def named(child: str) -> Operator:
        operator = Operator(child)

        @operator.reconciler(Page)
        async def reconcile(page: Page, ctx: Context[Page]) -> None:
            await ctx.apply(ConfigMap(meta(child), data={"a": page.name}))
            await ctx.external_write("dns", f"announce {child}", done_nothing)

        return operator

    async def done_nothing() -> None:
        raise AssertionError("it is made")

    await create(cluster, page())
    plan = await cluster.plan(named("one"), named("two"))
    children = [
        [change.object.name for change in one.changes if change.object.kind == "ConfigMap"] for one in plan.objects
    ]
    assert children == [["one"], ["two"]]
    assert [[call.description for call in one.calls] for one in plan.objects] == [["announce one"], ["announce two"]]


# Proposals.


async def test_a_plan_is_made_as_if_a_change_were_applied(cluster: Cluster) -> None:
    """Before a person applies a change: what would the operator do then? The change itself is not the operator's."""
    operator = page_operator()
    await create(cluster, page(), page("b"))
    async with cluster.running(operator):
        await cluster.settle()
    edited = (await cluster.client.get(resource_of(Page).gvk, "a")).content
    edited["spec"]["copies"] = 2
    new = {"apiVersion": "planning.example.com/v1", "kind": "Page", "metadata": {"name": "c"}, "spec": {"text": "y"}}
    version = cluster.server.objects.version
    plan = await cluster.plan(operator, options=PlanOptions(proposed=(edited, new)))
    assert cluster.server.objects.version == version
    assert [f"{one.action} {one.object}" for one in plan.proposed] == ["change Page default/a", "create Page default/c"]
    assert [str(field) for field in plan.proposed[0].fields] == ["spec.copies 1 → 2"]
    assert lines(plan) == [
        "create ConfigMap default/a-1",
        "change Page default/a",
        "create ConfigMap default/c-0",
        "change Page default/c",
    ]
    assert not [field for field in plan.all_changes[1].fields if field.path.startswith("spec")]
    assert str(plan).splitlines()[:3] == [
        "Proposed",
        "  ~ Page default/a  spec.copies  1 → 2",
        "  + Page default/c",
    ]
    assert plan_document(plan)["proposed"][0]["action"] == "change"


async def test_a_proposal_that_the_server_rejects_ends_the_plan(cluster: Cluster) -> None:
    """There is nothing to plan: it would not be applied either."""
    await create(cluster, page())
    wrong = {
        "apiVersion": "planning.example.com/v1",
        "kind": "Page",
        "metadata": {"name": "a"},
        "spec": {"copies": "many"},
    }
    with pytest.raises(ApiError, match=r"spec\.copies"):
        await cluster.plan(page_operator(), options=PlanOptions(proposed=(wrong,)))


async def test_a_proposed_namespace_can_be_chosen(cluster: Cluster) -> None:
    """A file may have a namespace and what is in it; one that is nowhere is a mistake."""
    await cluster.install(Page)
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "green"}}
    new = {"apiVersion": "planning.example.com/v1", "kind": "Page", "metadata": {"name": "c"}, "spec": {"text": "y"}}
    options = PlanOptions(proposed=(namespace, new), proposed_namespace="green", namespaces=("green",))
    plan = await cluster.plan(page_operator(), options=options)
    assert lines(plan) == ["create ConfigMap green/c-0", "change Page green/c"]


async def test_a_choice_names_the_consequences_that_it_leaves_out(cluster: Cluster) -> None:
    """One reconciler changes what another one of the same operator would answer to."""
    operator = Operator("chain")

    @operator.reconciler(Page)
    async def reconcile(page: Page, ctx: Context[Page]) -> None:
        if page.name == "a":
            await ctx.apply(Page(meta("child"), PageSpec(text="from a")))

    await create(cluster, page())
    note = "what the operator does in answer to the changes of Page default/child"
    assert note in str(await cluster.plan(operator, options=PlanOptions(objects=(("page", "a"),))))
    assert note not in str(await cluster.plan(operator))


async def test_a_proposal_without_an_effect_plans_nothing(cluster: Cluster) -> None:
    """The operator has nothing to do, whatever the proposal itself changes."""
    operator = page_operator()
    await create(cluster, page())
    async with cluster.running(operator):
        await cluster.settle()
    labelled = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "other"}, "data": {"a": "b"}}
    plan = await cluster.plan(operator, options=PlanOptions(proposed=(labelled,)))
    assert [str(one.object) for one in plan.proposed] == ["ConfigMap default/other"]
    assert plan.is_empty
    assert plan.exit_code == 0


async def test_a_proposed_object_is_planned_as_it_is_then_reconciled(cluster: Cluster, fake_clock: FakeClock) -> None:
    """Planned = done holds for a proposal, too."""
    operator = page_operator()
    await create(cluster, page(copies=2))
    async with cluster.running(operator):
        await cluster.settle()
    changed = {
        "apiVersion": "planning.example.com/v1",
        "kind": "Page",
        "metadata": {"name": "a"},
        "spec": {"text": "z", "copies": 1},
    }
    plan = await cluster.plan(operator, options=PlanOptions(proposed=(changed,)))
    await cluster.client.as_manager("kubectl").apply(Unstructured(changed), force=True)
    before = await world_of(cluster.client, operator, "")
    async with cluster.running(operator):
        await cluster.settle()
    assert planned(plan) == done(before, await world_of(cluster.client, operator, ""))
    assert fake_clock


@pytest.mark.parametrize("resume", [False, True])
async def test_paused_objects_are_planned_as_if_they_were_resumed(cluster: Cluster, *, resume: bool) -> None:
    """A person pauses everything, upgrades, looks at the plan, and resumes."""
    await create(cluster, page())
    async with cluster.running(page_operator()):
        await cluster.settle()
    await cluster.client.patch(cluster.list(Page)[0], {"metadata": {"annotations": {"steersman.dev/paused": "true"}}})
    async with cluster.running(page_operator("!")):
        await cluster.settle()
    plan = await cluster.plan(page_operator("!"), options=PlanOptions(resume=resume))
    if resume:
        assert [f"{one.action} {one.object}" for one in plan.proposed] == ["change Page default/a"]
        assert "change ConfigMap default/a-0" in lines(plan)
    else:
        assert (plan.proposed, lines(plan)) == ((), [])
        assert "is paused" in str(plan)


# Secrets.


async def test_secrets_are_shown_as_hashes(cluster: Cluster) -> None:
    """That a password changes is worth knowing; the password is not."""
    operator = Operator("passwords")

    @operator.reconciler(Page, owns=[Secret, ConfigMap])
    async def reconcile(page: Page, ctx: Context[Page]) -> None:
        await ctx.apply(Secret(meta("login"), data={"password": page.spec.text.encode()}))
        await ctx.apply(ConfigMap(meta("copy"), data={"url": f"db://user:{page.spec.text}@host"}))

    await create(cluster, page(text="hunter2-canary"))
    async with cluster.running(operator):
        await cluster.settle()
    await cluster.client.patch(cluster.list(Page)[0], {"spec": {"text": "hunter3-canary"}})
    plan = await cluster.plan(operator)
    secret = next(change for change in plan.all_changes if change.object.kind == "Secret")
    [field] = secret.fields
    assert field.path == "data.password"
    assert field.before != field.after
    shown = str(plan) + "".join(str(change.fields) for change in plan.all_changes) + str(secret.after)
    shown += json.dumps(plan_document(plan))
    assert "canary" not in shown
    assert "aHVudGVy" not in shown


async def test_a_condition_is_planned_as_it_is_written(cluster: Cluster) -> None:
    """A run masks what it has read. The plan knows more Secrets than that, and masks them only in what it shows."""
    operator = Operator("words")

    @operator.reconciler(Page, owns=[Secret])
    async def reconcile(_page: Page, _ctx: Context[Page]) -> None:
        raise Permanent("No", "never: hunter2-canary")

    await create(cluster, page())
    await cluster.client.create(Secret(meta("login", "default"), data={"password": b"hunter2-canary"}))
    plan = await cluster.plan(operator)
    assert "never: <hash " in str(plan)
    async with cluster.running(operator):
        await cluster.settle()
    again = await cluster.plan(operator)
    assert again.is_empty, str(again)


# Other systems.


class Dns:
    """A service that records what it is asked."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    def handle(self, request: Request, exchange: Exchange) -> None:
        """Record a request, and answer it."""
        self.calls.append(request.method)
        exchange.respond(Response(200, [], b"{}"))


async def test_other_systems_are_read_and_not_written(cluster: Cluster) -> None:
    """What a plan did not call is listed, once for each call that the operator would make."""
    operator = Operator("dns")
    answers: list[int] = []

    @operator.reconciler(Page)
    async def reconcile(page: Page, ctx: Context[Page]) -> None:
        service = ctx.http("https://dns.example.com")
        answers.append((await service.request("GET", "/zones")).status)
        answers.append((await service.request("POST", "/zones", json={"name": page.name})).status)

        async def write() -> None:
            raise AssertionError("a plan must not write to a database")

        async def count() -> int:
            raise AssertionError("a plan must not write to a database")

        assert await ctx.external_write("redis", "set the master", write) is None
        assert await ctx.external_write("redis", "count", count, planned=7) == 7

    dns = Dns()
    cluster.serve_http("https://dns.example.com", dns)
    await create(cluster, page(), page("b"))
    plan = await cluster.plan(operator)
    assert not plan.failures, str(plan)
    assert set(dns.calls) == {"GET"}
    assert set(answers) == {200, 202}
    assert "Not called: 2 requests to https://dns.example.com (POST)." in str(plan)
    assert "Not called: redis, set the master (2 times)." in str(plan)
    assert not plan.is_empty


async def test_an_operator_can_answer_for_a_service(cluster: Cluster) -> None:
    """Where the next steps depend on the answer, the author provides it."""
    operator = Operator("dns")

    @operator.reconciler(Page)
    async def reconcile(page: Page, ctx: Context[Page]) -> None:
        answer = await ctx.http("https://dns.example.com").request("POST", "/zones")
        await ctx.apply(ConfigMap(meta(page.name), data={"zone": answer.body.decode()}))

    operator.plan_service("https://dns.example.com", lambda _: Response(201, [], b"zone-1"))
    await create(cluster, page())
    plan = await cluster.plan(operator)
    assert ("data.zone", "zone-1") in [(field.path, field.after) for field in plan.all_changes[0].fields]
    assert [call.count for call in plan.calls] == [1]


async def test_an_operator_that_cannot_be_planned_says_so(cluster: Cluster) -> None:
    """A driver that writes by itself would really write."""
    operator = Operator("legacy")
    operator.refuse_plan("it writes to LDAP by a driver of its own")
    with pytest.raises(ConfigError, match="operator 'legacy' cannot be planned: it writes to LDAP"):
        await cluster.plan(operator)


async def test_a_run_that_waits_for_others_ends(cluster: Cluster) -> None:
    """No pod ever becomes ready in a plan: a reconciler that waits for one inside its run would wait forever."""
    operator = Operator("patient")

    @operator.reconciler(Page)
    async def reconcile(_page: Page, ctx: Context[Page]) -> None:
        await ctx.apply(Pod(meta("a"), spec=PodSpec(containers=[Container(name="a", image="a")])))
        await ctx.client.wait_for(Ref(Pod, "a"), has_condition("Ready"), timeout=3600)

    await create(cluster, page())
    plan = await cluster.plan(operator, options=PlanOptions(run_timeout=1.0))
    assert lines(plan) == ["create Pod default/a"]
    assert plan.failures[0].message == "TimeoutError: the reconcile takes more than 1 s"


async def test_a_run_that_needs_time_is_named_while_the_clock_stands_still(
    cluster: Cluster, fake_clock: FakeClock
) -> None:
    """A test that would hang says why."""
    operator = Operator("sleepy")

    @operator.reconciler(Page)
    async def reconcile(_page: Page, _ctx: Context[Page]) -> None:
        await fake_clock.sleep(5)

    await create(cluster, page())
    with pytest.raises(WaitTimeout, match="a run waits for time to pass"):
        await cluster.plan(operator)


async def test_background_functions_are_not_run(cluster: Cluster) -> None:
    """They have no object to be planned for; the plan says that they were left out."""
    operator = page_operator()

    @operator.background
    async def beat(_client: object, _clock: object) -> None:
        raise AssertionError("a plan must not run background functions")

    await create(cluster, page())
    plan = await cluster.plan(operator)
    assert any("beat" in note for note in plan.notes)


async def test_commands_in_pods_fail_the_plan(cluster: Cluster) -> None:
    """What a command does cannot be known, and it is not run."""
    operator = Operator("exec")

    @operator.reconciler(Page)
    async def reconcile(_page: Page, ctx: Context[Page]) -> None:
        await ctx.client.exec(Ref(Pod, "a"), ["rm", "-rf", "/"])

    await create(cluster, page())
    plan = await cluster.plan(operator)
    assert "NotPlanned" in plan.failures[0].message


# Planned = done, for any object.

_PAGES = st.lists(
    st.tuples(st.sampled_from("abcd"), st.sampled_from(["", "x", "y"]), st.integers(0, 3)),
    max_size=4,
    unique_by=lambda one: one[0],
)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(before=_PAGES, after=_PAGES)
def test_any_plan_is_what_is_done(before: list[tuple[str, str, int]], after: list[tuple[str, str, int]]) -> None:
    """Objects that come, change and go in any combination, from a cluster at rest."""
    import asyncio  # noqa: PLC0415 - hypothesis needs a plain function

    with quiet_logs():
        asyncio.run(_plan_and_do(before, after))


async def _plan_and_do(before: list[tuple[str, str, int]], after: list[tuple[str, str, int]]) -> None:
    async with Cluster.start(clock=FakeClock()) as cluster:
        operator = page_operator()
        await create(cluster, *(page(*one) for one in before))
        async with cluster.running(operator):
            await cluster.settle()
        wanted = {name: (text, copies) for name, text, copies in after}
        for one in cluster.list(Page):
            if one.name not in wanted:
                await cluster.client.delete(one)
            else:
                text, copies = wanted.pop(one.name)
                await cluster.client.patch(one, {"spec": {"text": text, "copies": copies}})
        await create(cluster, *(page(name, *rest) for name, rest in wanted.items()))
        start = await world_of(cluster.client, operator, "")
        plan = await cluster.plan(operator)
        assert await world_of(cluster.client, operator, "") == start
        async with cluster.running(operator):
            await cluster.settle()
        end = await world_of(cluster.client, operator, "")
        assert planned(plan) == done(start, end)
        assert (await cluster.plan(operator)).is_empty
        assert plan.count(Action.DELETE) == len({*start} - {*end})


async def test_a_write_through_a_proxy_is_not_made(cluster: Cluster) -> None:
    """The server behind the proxy would execute it: a dry run is an option of the API server."""
    operator = Operator("proxied")

    @operator.reconciler(Page)
    async def reconcile(_: Page, ctx: Context[Page]) -> None:
        await ctx.client.create_subresource(Ref(Service, "db", "default"), "proxy", {"drop": "all"})

    await create(cluster, page("a", "x", 1))
    plan = await cluster.plan(operator)
    assert "is not part of a plan" in plan.failures[0].message
    assert cluster.faults.count("POST", "/proxy") == 0
