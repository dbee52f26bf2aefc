"""Scopes: what is cached of a kind, what reads return from it, and which roles follow."""

from collections.abc import Awaitable, Callable

import pytest

from steersman.controller.context import Context
from steersman.controller.owned import Owned
from steersman.controller.predicates import on_objects
from steersman.controller.references import Reference
from steersman.controller.triggers import Chosen, Watch
from steersman.errors import Blocked, DeclarationError
from steersman.informer.informer import Informer, Selection
from steersman.kinds.core_v1 import ConfigMap, Namespace, Node, Secret
from steersman.manager.manager import Manager, ManagerOptions
from steersman.manager.operator import Operator
from steersman.manager.rbac import roles_of
from steersman.objects.meta import meta
from steersman.objects.resource import KubeObject
from steersman.testing.cluster import Cluster
from steersman.testing.fake_clock import FakeClock
from tests.support.widgets import DEFINITION, Widget, WidgetSpec

OPTIONS = ManagerOptions(definitions=[DEFINITION])
Ctx = Context[Widget]
Look = Callable[[Widget, Ctx], Awaitable[None]]

pytestmark = pytest.mark.usefixtures("fake_clock")


def cache_of(manager: Manager, kind: type[KubeObject]) -> Informer[KubeObject]:
    """Return the cache from which the only controller reads a kind."""
    (controller,) = manager.controllers
    cache = controller.find(kind)
    assert cache is not None
    return cache


def to_a(_: KubeObject) -> list[str]:
    """Map every object to the widget a."""
    return ["default/a"]


# What is cached.


async def test_watched_secrets_and_config_maps_are_cached_without_content(
    cluster: Cluster, caplog: pytest.LogCaptureFixture
) -> None:
    """All Secrets of a cluster in memory would exceed an operator's limit; content is read from the API server."""
    caplog.set_level("INFO", "steersman.controller")
    operator, contents = Operator("metadata"), list[object]()

    @operator.reconciler(Widget, watches=[Watch(Secret, to=to_a), Reference(ConfigMap, by=lambda _: "settings")])
    async def reconcile(_: Widget, ctx: Ctx) -> None:
        secret, settings = await ctx.get(Secret, "tls"), await ctx.get(ConfigMap, "settings")
        contents.append((secret and secret.data, settings and settings.data))

    await cluster.client.create(Secret(meta("tls"), data={"key": b"first"}))
    await cluster.client.create(ConfigMap(meta("settings"), data={"a": "1"}))
    async with cluster.running(operator, options=OPTIONS) as manager:
        await cluster.client.create(Widget(meta("a"), WidgetSpec()))
        await cluster.settle()
        assert contents[-1] == ({"key": b"first"}, {"a": "1"})
        for kind in (Secret, ConfigMap):
            cache = cache_of(manager, kind)
            assert cache.selection.metadata_only
            assert not any(b"first" in one.data or b'"data"' in one.data for one in cache.store.records())
        await cluster.client.patch(await cluster.client.get(Secret, "tls"), {"data": {"key": "c2Vjb25k"}})
        await cluster.settle()
        assert contents[-1] == ({"key": b"second"}, {"a": "1"})
    hints = [one for one in caplog.records if "only metadata is cached" in one.getMessage()]
    assert sorted(getattr(one, "kind", "") for one in hints) == ["ConfigMap", "Secret"], "one hint for each kind"


async def test_content_is_cached_if_the_author_asks_for_it(cluster: Cluster) -> None:
    """Then functions get whole objects, and reads cost no request."""
    operator, contents = Operator("contents"), list[object]()

    def users(secret: Secret) -> list[str]:
        return [f"default/{(secret.data or {})['user'].decode()}"]

    @operator.reconciler(Widget, watches=[Watch(Secret, to=users, metadata_only=False)])
    async def reconcile(_: Widget, ctx: Ctx) -> None:
        secret = await ctx.get(Secret, "tls")
        contents.append(secret and secret.data)

    async with cluster.running(operator, options=OPTIONS):
        await cluster.client.create(Widget(meta("a"), WidgetSpec()))
        await cluster.settle()
        reads = cluster.faults.count("GET", "/secrets/tls")
        await cluster.client.create(Secret(meta("tls"), data={"user": b"a"}))
        await cluster.settle()
        assert contents == [None, {"user": b"a"}]
        assert cluster.faults.count("GET", "/secrets/tls") == reads


async def test_a_function_that_reads_missing_content_fails_with_advice(cluster: Cluster) -> None:
    """An empty Secret instead of the missing content would be a wrong answer; the error names the option."""
    operator = Operator("curious")

    @operator.reconciler(Widget, watches=[Watch(Secret, to=lambda secret: [*(secret.data or {})])])
    async def reconcile(_: Widget, __: Ctx) -> None: ...

    async with cluster.running(operator, options=OPTIONS, expect_failures=AttributeError):
        await cluster.client.create(Secret(meta("tls"), data={"a": b"b"}))
        await cluster.settle()
        notes = {note for failure in cluster.failures for note in failure.error.__notes__}
        assert notes == {"Secret objects are cached without content here: pass metadata_only=False"}


async def test_predicates_and_choosers_get_metadata_as_such(cluster: Cluster) -> None:
    """A predicate that compares contents would otherwise find all of them equal, and drop every change."""
    operator, runs, types = Operator("partial"), list[str](), set[str]()

    def relabelled(old: ConfigMap | None, new: ConfigMap | None) -> bool:
        types.update(type(one).__name__ for one in (old, new) if one is not None)
        return old is None or new is None or old.labels != new.labels

    def chooses(widget: Widget, config_map: ConfigMap) -> bool:
        return config_map.labels.get("for") == widget.name

    @operator.reconciler(Widget, watches=[Chosen(ConfigMap, by=chooses, when=on_objects(ConfigMap, relabelled))])
    async def reconcile(widget: Widget, _: Ctx) -> None:
        runs.append(widget.name)

    async with cluster.running(operator, options=OPTIONS):
        await cluster.client.create(Widget(meta("a"), WidgetSpec()))
        settings = await cluster.client.create(ConfigMap(meta("settings")))
        await cluster.settle()
        runs.clear()
        settings = await cluster.client.patch(settings, {"data": {"a": "b"}})
        await cluster.settle()
        assert runs == []
        await cluster.client.patch(settings, {"metadata": {"labels": {"for": "a"}}})
        await cluster.settle()
        assert runs == ["a"]
    assert types == {"PartialObjectMetadata"}


async def test_a_watch_is_limited_by_namespaces_labels_and_fields(cluster: Cluster) -> None:
    """Objects outside of them neither trigger nor take memory."""
    for name in ("certs", "other"):
        await cluster.client.create(Namespace(meta(name)))
    operator, runs = Operator("limited"), list[str]()
    watch = Watch(
        Secret, to=to_a, namespaces=["certs"], selector="use=tls", field_selector="type=kubernetes.io/basic-auth"
    )

    @operator.reconciler(Widget, watches=[watch])
    async def reconcile(widget: Widget, _: Ctx) -> None:
        runs.append(widget.name)

    async with cluster.running(operator, options=OPTIONS) as manager:
        await cluster.client.create(Widget(meta("a"), WidgetSpec()))
        await cluster.settle()
        runs.clear()
        basic, tls, user = "kubernetes.io/basic-auth", {"use": "tls"}, {"username": b"u", "password": b"p"}
        await cluster.client.create(Secret(meta("a", "other", labels=tls), type=basic, data=user))
        await cluster.client.create(Secret(meta("b", "certs"), type=basic, data=user))
        await cluster.client.create(Secret(meta("c", "certs", labels=tls), data=user))
        await cluster.settle()
        assert runs == []
        await cluster.client.create(Secret(meta("d", "certs", labels=tls), type=basic, data=user))
        await cluster.settle()
        assert runs == ["a"]
        assert [str(one.key) for one in cache_of(manager, Secret).store.records()] == ["certs/d"]


@pytest.mark.parametrize(
    ("declare", "message"),
    [
        (lambda: Watch(Secret, to=to_a, namespaces="certs"), r"write namespaces=\['certs'\]"),
        (lambda: Watch(Secret, to=to_a, selector="a b"), "is not a label selector"),
        (lambda: Owned(Secret, labels={"a b": "c"}), "a b=c is not a label"),
        (lambda: Operator("x").reconciler(Widget, watches=[Watch(Node, to=to_a, namespaces=["a"])]), "cluster-scoped"),
        (lambda: Operator("x").reconciler(Widget, owns=[Secret, Owned(Secret, selector="a=b")]), "twice"),
        (lambda: Operator("x").reconciler(Widget, owns=Owned(Secret)), r"write owns=\[Secret\]"),
    ],
)
def test_a_scope_that_cannot_work_is_rejected_when_it_is_declared(declare: Callable[[], object], message: str) -> None:
    """Otherwise the cache stays empty, or the API server answers 400 forever."""
    with pytest.raises(DeclarationError, match=message):
        declare()


# Owned objects.


async def test_owned_objects_carry_the_label_by_which_they_are_cached(cluster: Cluster) -> None:
    """The Secrets of other programs are not cached, and the operator's own are seen, pruned and not written twice."""
    operator, seen = Operator("labelled"), list[list[str]]()

    @operator.reconciler(Widget, owns=[Owned(Secret, labels={"example.com/part-of": "widgets"})])
    async def reconcile(widget: Widget, ctx: Ctx) -> None:
        seen.append(sorted(one.name for one in ctx.owned(Secret)))
        for number in range(widget.spec.size):
            await ctx.apply(Secret(meta(f"{widget.name}-{number}", labels={"n": str(number)}), data={"a": b"b"}))
        await ctx.prune(Secret)

    await cluster.client.create(Secret(meta("foreign"), data={"a": b"b"}))
    async with cluster.running(operator, options=OPTIONS) as manager:
        widget = await cluster.client.create(Widget(meta("a"), WidgetSpec(size=2)))
        await cluster.settle()
        assert seen[-1] == ["a-0", "a-1"]
        assert sorted(one.key.name for one in cache_of(manager, Secret).store.records()) == ["a-0", "a-1"]
        labels = (await cluster.client.get(Secret, "a-1")).labels
        assert labels == {"n": "1", "example.com/part-of": "widgets"}
        writes = len(cluster.faults.writes())
        await cluster.client.patch(widget, {"metadata": {"labels": {"x": "y"}}})
        await cluster.settle()
        assert len(cluster.faults.writes()) == writes + 1, "an unchanged intent was sent again"
        await cluster.client.patch(widget, {"spec": {"size": 1}})
        await cluster.settle()
        assert sorted(one.name for one in cluster.list(Secret, namespace="default")) == ["a-0", "foreign"]


async def test_an_owned_object_without_the_label_is_labelled_by_the_next_apply(cluster: Cluster) -> None:
    """An object of an earlier release is not in the cache, and must be neither rejected nor created twice."""

    def operator_with(owned: Owned) -> Operator:
        operator = Operator("upgraded")

        @operator.reconciler(Widget, owns=[owned])
        async def reconcile(widget: Widget, ctx: Ctx) -> None:
            await ctx.apply(ConfigMap(meta(widget.name), data={"size": str(widget.spec.size)}))

        return operator

    async with cluster.running(operator_with(Owned(ConfigMap)), options=OPTIONS):
        await cluster.client.create(Widget(meta("a"), WidgetSpec()))
        await cluster.settle()
    before = await cluster.client.get(ConfigMap, "a")
    async with cluster.running(operator_with(Owned(ConfigMap, labels={"part-of": "widgets"}))) as manager:
        await cluster.settle()
        after = await cluster.client.get(ConfigMap, "a")
        assert (after.uid, after.labels) == (before.uid, {"part-of": "widgets"})
        assert len(cache_of(manager, ConfigMap)) == 1


async def test_owned_objects_can_be_cached_without_content(cluster: Cluster) -> None:
    """An operator that only applies and prunes needs no content; a read of content is an error."""
    operator, answers, applied = Operator("thin"), list[object](), list[ConfigMap]()

    @operator.reconciler(Widget, owns=[Owned(ConfigMap, metadata_only=True)])
    async def reconcile(widget: Widget, ctx: Ctx) -> None:
        for number in range(widget.spec.size):
            applied.append(await ctx.apply(ConfigMap(meta(f"{widget.name}-{number}"), data={"n": str(number)})))
        await ctx.prune(ConfigMap)
        answers.append(sorted(one.name for one in ctx.owned_metadata(ConfigMap)))
        with pytest.raises(LookupError, match="cached without content"):
            ctx.owned(ConfigMap)

    async with cluster.running(operator, options=OPTIONS):
        widget = await cluster.client.create(Widget(meta("a"), WidgetSpec(size=2)))
        await cluster.settle()
        applied.clear()
        writes = len(cluster.faults.writes())
        await cluster.client.patch(widget, {"metadata": {"labels": {"x": "y"}}})
        await cluster.settle()
        assert len(cluster.faults.writes()) == writes + 1, "an unchanged intent was sent again"
        assert [one.data for one in applied] == [{"n": "0"}, {"n": "1"}]
        assert all(one.uid and one.resource_version for one in applied)
        await cluster.client.patch(widget, {"spec": {"size": 1}})
        await cluster.settle()
        assert answers[-1] == ["a-0"]


# What reads answer.


async def test_reads_use_a_selective_cache_only_for_what_it_has(cluster: Cluster) -> None:
    """It shows the objects that it has, but not that others do not exist."""
    operator, answers = Operator("selective"), dict[str, object]()

    @operator.reconciler(Widget, watches=[Watch(ConfigMap, to=to_a, selector="app=web", metadata_only=False)])
    async def reconcile(_: Widget, ctx: Ctx) -> None:
        def requests() -> int:
            return cluster.faults.count("GET", "/configmaps")

        async def cost(name: str, read: Awaitable[object]) -> None:
            before = requests()
            answers[name] = (await read, requests() - before)

        async def names(found: Awaitable[list[ConfigMap]]) -> list[str]:
            return sorted(one.name for one in await found)

        async def exists(name: str) -> bool:
            return await ctx.get(ConfigMap, name) is not None

        async def has_metadata(name: str) -> bool:
            return await ctx.get_metadata(ConfigMap, name) is not None

        await cost("cached", exists("web"))
        await cost("cached metadata", has_metadata("web"))
        await cost("metadata not selected", has_metadata("db"))
        await cost("not selected", exists("db"))
        await cost("missing", exists("none"))
        await cost("narrower list", names(ctx.list(ConfigMap, "tier=front,app=web")))
        await cost("wider list", names(ctx.list(ConfigMap, "tier=front")))
        await cost("fields", names(ctx.list(ConfigMap, "app=web", field_selector="metadata.name=web")))

    web, tier = {"app": "web", "tier": "front"}, {"tier": "front"}
    await cluster.client.create(ConfigMap(meta("web", labels=web)))
    await cluster.client.create(ConfigMap(meta("db", labels=tier)))
    async with cluster.running(operator, options=OPTIONS):
        await cluster.client.create(Widget(meta("a"), WidgetSpec()))
        await cluster.settle()
    assert answers == {
        "cached": (True, 0),
        "cached metadata": (True, 0),
        "metadata not selected": (True, 1),
        "not selected": (True, 1),
        "missing": (False, 1),
        "narrower list": (["web"], 0),
        "wider list": (["db", "web"], 1),
        "fields": (["web"], 1),
    }


async def test_a_content_is_read_once_for_each_version(cluster: Cluster) -> None:
    """Many objects name one Secret: the cache of metadata shows whether what was read of it is still current."""
    operator, seen = Operator("frugal"), dict[str, object]()

    @operator.reconciler(Widget, watches=[Reference(Secret, by=lambda _: "tls")])
    async def reconcile(widget: Widget, ctx: Ctx) -> None:
        secret = await ctx.get(Secret, "tls")
        seen[widget.name] = secret and secret.data

    def reads() -> int:
        return cluster.faults.count("GET", "/secrets/tls")

    secret = await cluster.client.create(Secret(meta("tls"), data={"key": b"first"}))
    async with cluster.running(operator, options=OPTIONS):
        for number in range(10):
            await cluster.client.create(Widget(meta(f"w{number}"), WidgetSpec()))
        await cluster.settle()
        assert (list(seen.values()), reads()) == ([{"key": b"first"}] * 10, 1)
        secret = await cluster.client.patch(secret, {"data": {"key": "c2Vjb25k"}})
        await cluster.settle()
        assert (list(seen.values()), reads()) == ([{"key": b"second"}] * 10, 2)
        await cluster.client.delete(secret)
        await cluster.settle()
        assert (list(seen.values()), reads()) == ([None] * 10, 2)
        await cluster.client.create(Secret(meta("tls"), data={"key": b"third"}))
        await cluster.settle()
        assert (list(seen.values()), reads()) == ([{"key": b"third"}] * 10, 3)


async def test_metadata_is_read_from_a_cache_of_metadata(cluster: Cluster) -> None:
    """Whether a Secret exists, and its labels, cost no request."""
    operator, answers = Operator("light"), list[object]()
    operator.permit(Node, "list", "get")

    @operator.reconciler(Widget, watches=[Watch(Secret, to=to_a)])
    async def reconcile(_: Widget, ctx: Ctx) -> None:
        before = cluster.faults.count("GET", "/secrets")
        found, missing = await ctx.get_metadata(Secret, "tls"), await ctx.get_metadata(Secret, "none")
        listed = await ctx.list_metadata(Secret, "use=tls")
        answers.append((found and found.labels, missing, [one.name for one in listed]))
        assert cluster.faults.count("GET", "/secrets") == before
        answers.append([one.name for one in await ctx.list_metadata(Node)])
        node = await ctx.get_metadata(Node, "n")
        answers.append(node and node.name)

    await cluster.client.create(Node(meta("n")))
    await cluster.client.create(Secret(meta("tls", labels={"use": "tls"})))
    await cluster.client.create(Secret(meta("other")))
    async with cluster.running(operator, options=OPTIONS):
        await cluster.client.create(Widget(meta("a"), WidgetSpec()))
        await cluster.settle()
    assert answers == [({"use": "tls"}, None, ["tls"]), ["n"], "n"]


async def test_a_cache_of_metadata_ends_a_wait(cluster: Cluster) -> None:
    """Blocked needs to know that the object appeared, not what is in it."""
    operator, runs = Operator("waiting"), list[str]()

    @operator.reconciler(Widget, watches=[Reference(Secret, by=lambda _: None)])
    async def reconcile(widget: Widget, ctx: Ctx) -> None:
        runs.append(widget.name)
        if await ctx.get_metadata(Secret, "tls") is None:
            raise Blocked("NoSecret", "there is none", kind=Secret, name="tls")

    async with cluster.running(operator, options=OPTIONS):
        await cluster.client.create(Widget(meta("a"), WidgetSpec()))
        await cluster.settle()
        runs.clear()
        await cluster.client.create(Secret(meta("tls")))
        await cluster.settle()
        assert runs == ["a"]


async def test_a_run_waits_for_the_cache_that_it_reads(cluster: Cluster, fake_clock: FakeClock) -> None:
    """A kind can be cached twice: that the other cache shows a write already must not start the next run."""
    operator, seen = Operator("twice"), list[list[str]]()

    @operator.reconciler(Widget, owns=[Owned(ConfigMap, labels={"of": "us"})], watches=[Watch(ConfigMap, to=to_a)])
    async def reconcile(widget: Widget, ctx: Ctx) -> None:
        seen.append(sorted(one.name for one in ctx.owned(ConfigMap)))
        if len(seen[-1]) < widget.spec.size:
            await ctx.create(ConfigMap(meta(f"{widget.name}-{len(seen[-1])}")))

    async with cluster.running(operator, options=OPTIONS):
        await cluster.client.create(Widget(meta("a"), WidgetSpec(size=0)))
        await cluster.settle()
        cluster.faults.hold(r"/configmaps.*labelSelector")
        await cluster.client.patch(await cluster.client.get(Widget, "a"), {"spec": {"size": 2}})
        seen.clear()
        await fake_clock.advance(1)
        assert seen == [[]], "it ran again before its cache showed the first child"
        cluster.faults.release(r"/configmaps.*labelSelector")
        await cluster.settle()
        assert seen[-1] == ["a-0", "a-1"]


# Sharing.


async def test_metadata_is_taken_from_a_cache_of_whole_objects_if_there_is_one(cluster: Cluster) -> None:
    """Two watches of the same objects would cost more than the one."""
    operator = Operator("sharing")

    @operator.reconciler(Widget, owns=[ConfigMap], watches=[Watch(ConfigMap, to=to_a)])
    async def reconcile(_: Widget, __: Ctx) -> None: ...

    async with cluster.running(operator, options=OPTIONS) as manager:
        assert cache_of(manager, ConfigMap).selection == Selection()
        assert len(cluster.faults.watches("/configmaps")) == 1


async def test_caches_are_shared_whatever_the_order_of_reconcilers(cluster: Cluster) -> None:
    """The first reconciler needs only the metadata of what the second one owns."""
    operator = Operator("ordering")

    @operator.reconciler(Widget, watches=[Watch(ConfigMap, to=to_a)])
    async def first(_: Widget, __: Ctx) -> None: ...

    @operator.reconciler(Secret, owns=[ConfigMap])
    async def second(_: Secret, __: Context[Secret]) -> None: ...

    async with cluster.running(operator, options=OPTIONS):
        assert len(cluster.faults.watches("/configmaps")) == 1


# Roles.


def test_roles_follow_the_scope_of_a_watch() -> None:
    """A watch of one namespace needs no ClusterRole, and one of one object no right to read the others."""
    operator = Operator("narrow")

    @operator.reconciler(
        Widget,
        owns=[Owned(ConfigMap, namespaces=["out"])],
        watches=[
            Watch(Secret, to=to_a, namespaces=["certs"]),
            Watch(ConfigMap, to=to_a, namespaces=["kube-system"], field_selector="metadata.name=settings"),
        ],
    )
    async def reconcile(_: Widget, __: Ctx) -> None: ...

    roles = {role.namespace: role.rules for role in roles_of(operator, home="home") if role.name == "narrow"}
    assert {resource for rule in roles[""] for resource in rule["resources"]} == {
        "widgets",
        "widgets/status",
        "widgets/finalizers",
        "events",
    }
    read = ["get", "list", "watch"]
    assert roles["certs"] == [{"apiGroups": [""], "resources": ["secrets"], "verbs": read}]
    assert roles["out"] == [
        {"apiGroups": [""], "resources": ["configmaps"], "verbs": [*read, "create", "patch", "delete"]}
    ]
    assert roles["kube-system"] == [
        {"apiGroups": [""], "resources": ["configmaps"], "resourceNames": ["settings"], "verbs": read}
    ]


async def test_a_watch_of_one_object_works_with_the_role_that_allows_just_that(cluster: Cluster) -> None:
    """The server compares the name in the role with the field selector of the request."""
    operator, runs = Operator("one"), list[str]()
    watch = Watch(
        ConfigMap, to=to_a, namespaces=["kube-system"], field_selector="metadata.name=settings", metadata_only=False
    )

    @operator.reconciler(Widget, watches=[watch])
    async def reconcile(widget: Widget, ctx: Ctx) -> None:
        settings = await ctx.get(ConfigMap, "settings", "kube-system")
        runs.append(widget.name if settings is None else str(settings.data))

    async with cluster.running(operator, options=OPTIONS):
        await cluster.client.create(Widget(meta("a"), WidgetSpec()))
        await cluster.settle()
        await cluster.client.create(ConfigMap(meta("other", "kube-system")))
        await cluster.client.create(ConfigMap(meta("settings", "kube-system"), data={"a": "b"}))
        await cluster.settle()
        assert runs == ["a", "{'a': 'b'}"]
    cluster.assert_rbac_minimal(operator)


def test_a_limited_operator_keeps_the_role_of_a_watch_elsewhere() -> None:
    """The operator's own namespaces do not include that of the watch."""
    operator = Operator("both")

    @operator.reconciler(Widget, owns=[Secret], watches=[Watch(Secret, to=to_a, namespaces=["certs"])])
    async def reconcile(_: Widget, __: Ctx) -> None: ...

    roles = {role.namespace: role.rules for role in roles_of(operator, home="home", watch=["red"])}
    assert [rule["verbs"] for rule in roles["certs"]] == [["get", "list", "watch"]]
    assert ["secrets"] in [rule["resources"] for rule in roles["red"]]
