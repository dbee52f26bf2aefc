"""An operator in memory only: real values and a real history, without a cluster."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

from msgspec.structs import replace

from steersman.clock import Clock
from steersman.history.history import History
from steersman.history.recordings import Recording, Recordings
from steersman.history.records import (
    CauseRecord,
    CauseType,
    ConditionRecord,
    EventRecord,
    ExternalWriteRecord,
    FieldChange,
    KeyPhase,
    KeyState,
    LeadershipChange,
    ObjectName,
    ObjectView,
    Read,
    Reconcile,
    Result,
    Verb,
    WebhookCall,
    WriteRecord,
)
from steersman.history.state import (
    CacheState,
    ControllerState,
    LeadershipState,
    ObjectSummary,
    Overview,
    TreeNode,
    WebhookState,
)
from steersman.webview.documents import summary_of

READY = ConditionRecord("Ready", "True", "AllPodsReady", "3 of 3 pods are ready")
WAITING = ConditionRecord("Ready", "False", "WaitingForPods", "2 of 3 pods are ready")


class SampleOperator:
    """An `Introspection` over the objects that a test puts into it."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.history = History()
        self.recorded: Recordings | None = None
        self.views: dict[ObjectName, ObjectView] = {}
        self.trees: dict[ObjectName, TreeNode] = {}
        self.controllers: tuple[ControllerState, ...] = ()
        self.caches: tuple[CacheState, ...] = ()
        self.webhooks: tuple[WebhookState, ...] = ()
        self.leadership: LeadershipState | None = LeadershipState(
            is_leader=True, lease="shop/website-operator", identity="website-operator-6d8f-x2l4q"
        )
        self._started = clock.now() - timedelta(hours=5, minutes=12)

    def overview(self) -> Overview:
        """Return the state of the whole."""
        return Overview(
            operators=("website-operator",),
            version="0.9.0",
            cluster="https://10.96.0.1:443",
            namespaces=("shop", "blog"),
            started=self._started,
            now=self.clock.now(),
            leadership=self.leadership,
            controllers=self.controllers,
            caches=self.caches,
            webhooks=self.webhooks,
            remembered=len(self.history),
            remembered_bytes=self.history.bytes,
        )

    def summaries(self) -> list[ObjectSummary]:
        """Return every object that exists."""
        return [summary_of(self.view(name)) for name in self.views]

    def view(self, name: ObjectName) -> ObjectView:
        """Return all that is known of one object."""
        view = self.views.get(name) or ObjectView(object=name, exists=False)
        reviews = tuple(call for call in self.history.calls() if call.object == name)
        leadership = tuple(self.history.leadership())
        return replace(view, reconciles=tuple(self.history.of(name)), reviews=reviews, leadership=leadership)

    def recordings(self, name: ObjectName) -> list[Recording] | None:
        """Return the recordings of one object."""
        return None if self.recorded is None else self.recorded.of(name)

    def tree(self, name: ObjectName) -> TreeNode | None:
        """Return an object and what it owns."""
        return self.trees.get(name)

    def put(self, name: ObjectName, **fields: Any) -> None:
        """Add an object, with these fields of its view."""
        self.views[name] = replace(self.views.get(name) or ObjectView(object=name), **fields)

    def run(self, name: ObjectName, *, ago: float = 0.0, **fields: Any) -> Reconcile:
        """Add a run of an object to the history."""
        earlier = self.history.last(name)
        values: dict[str, Any] = {
            "controller": name.kind.lower(),
            "object": name,
            "uid": "0d8e6a52-4f0c-4f43-9d51-6a2f9f1c7b11",
            "number": earlier.number + 1 if earlier is not None else 1,
            "started": self.clock.now() - timedelta(seconds=ago),
            "seconds": 0.0041,
        }
        reconcile = Reconcile(**{**values, **fields})
        self.history.add(reconcile)
        return reconcile

    def review(self, name: ObjectName, *, ago: float = 0.0, **fields: Any) -> None:
        """Add a review of an object by a webhook to the history."""
        values: dict[str, Any] = {
            "webhook": "/validate-website",
            "operation": "UPDATE",
            "status": 200,
            "seconds": 0.002,
        }
        started = self.clock.now() - timedelta(seconds=ago)
        self.history.add_call(WebhookCall(**{**values, "object": name, "started": started, **fields}))

    def lead(self, *, is_leader: bool, ago: float = 0.0, reason: str = "") -> None:
        """Add a change of leadership to the history."""
        at = self.clock.now() - timedelta(seconds=ago)
        self.history.add_leadership(
            LeadershipChange(at=at, is_leader=is_leader, lease="shop/website-operator", reason=reason)
        )


def many(clock: Clock, count: int) -> SampleOperator:
    """Return an operator of many objects; some wait, a few fail."""
    operator = SampleOperator(clock)
    for number in range(count):
        name = ObjectName("Website", f"team-{number % 40:02}", f"site-{number:05}")
        if number % 97 == 80:
            operator.put(
                name, conditions=(WAITING,), state=KeyState(KeyPhase.BACKING_OFF, clock.now() + timedelta(seconds=38))
            )
            operator.run(
                name, ago=number % 50, result=Result.FAILED, message="Conflict: Deployment was changed meanwhile"
            )
        elif number % 11 == 3:
            operator.put(
                name, conditions=(WAITING,), state=KeyState(KeyPhase.WAITING, clock.now() + timedelta(seconds=240))
            )
            operator.run(
                name, ago=60 + number % 400, result=Result.WAITING, message="waiting for Deployment to roll out"
            )
        else:
            operator.put(name, conditions=(READY,))
            operator.run(name, ago=(number * 7919) % 7200)
    operator.controllers = (
        ControllerState(
            name="website",
            kind="Website",
            api_version="shop.example.com/v1",
            plural="websites",
            workers=8,
            keys={KeyPhase.IDLE: count},
            runs=count,
        ),
    )
    return operator


def showcase(clock: Clock) -> SampleOperator:
    """Return the operator of the screenshots: a shop in which some objects are ready and some are not."""
    operator = SampleOperator(clock)
    for add in (_quiet_objects, _web, _checkout, _others):
        add(operator)
    _machinery(operator)
    earlier, operator.history = operator.history, History()
    for reconcile in sorted(earlier.newest(1000), key=lambda one: one.started):
        operator.history.add(reconcile)
    return operator


def _quiet_objects(operator: SampleOperator) -> None:
    names = ["about", "admin", "api", "blog", "careers", "catalog", "docs", "gallery", "help", "home", "news", "press"]
    for index, text in enumerate(names):
        name = ObjectName("Website", "shop" if index % 3 else "blog", text)
        operator.put(name, conditions=(READY,), generation=3, observed_generation=3)
        for age in range(index % 4 + 1, 0, -1):
            operator.run(
                name,
                ago=590 - 37 * index - age * 11,
                seconds=0.0012 + index * 0.0003,
                causes=(CauseRecord(CauseType.RESYNC),),
                reads=(Read("Deployment", 1, ObjectName("Deployment", name.namespace, text), "812", 0.031),),
            )
    for index, text in enumerate(["orders", "users", "stock", "search", "mail"]):
        name = ObjectName("Database", "shop", text)
        operator.put(
            name, conditions=(replace(READY, reason="PrimaryElected", message="primary and 2 replicas are up"),)
        )
        operator.run(
            name,
            ago=420 - 61 * index,
            seconds=0.018 + index * 0.004,
            causes=(CauseRecord(CauseType.TIMER),),
            external_writes=(ExternalWriteRecord("postgres", "create role app", "succeeded", 0.011),),
        )


def _web(operator: SampleOperator) -> None:
    """Add the object whose page is shown: it waits for a pod."""
    web, pod = ObjectName("Website", "shop", "web"), ObjectName("Pod", "shop", "web-7c9f-x7k2p")
    deployment = ObjectName("Deployment", "shop", "web")
    operator.put(
        web,
        conditions=(
            replace(WAITING, message="2 of 3 pods are ready, waiting for Pod web-7c9f-x7k2p (Pending: no node fits)"),
            ConditionRecord("Progressing", "True", "WaitingForPods"),
        ),
        generation=4,
        observed_generation=4,
        state=KeyState(KeyPhase.WAITING, operator.clock.now() + timedelta(minutes=4, seconds=12), pod),
    )
    operator.run(
        web,
        ago=1820,
        number=5,
        generation=3,
        seconds=0.0034,
        causes=(CauseRecord(CauseType.EXISTS, web),),
        reads=(Read("Deployment", 1, deployment, "790", 0.012), Read("Service", 1, age=0.012)),
    )
    operator.run(
        web,
        ago=254.2,
        generation=4,
        seconds=0.0041,
        causes=(
            CauseRecord(
                CauseType.CHANGED,
                web,
                "spec",
                (FieldChange("spec.replicas", "2", "3"), FieldChange("spec.image", "shop/web:1.41", "shop/web:1.42")),
            ),
        ),
        reads=(Read("Deployment", 1, deployment, "790", 0.04), Read("ConfigMap", 2, age=0.04)),
        writes=(
            WriteRecord(
                Verb.CHANGED,
                deployment,
                "871",
                (
                    FieldChange("spec.replicas", "2", "3"),
                    FieldChange("spec.template.spec.containers[web].image", "shop/web:1.41", "shop/web:1.42"),
                    FieldChange("spec.template.metadata.annotations[shop.example.com/config]", "6f1c0a", "b2e94d"),
                ),
                2,
            ),
            WriteRecord(Verb.CREATED, ObjectName("PodDisruptionBudget", "shop", "web"), "872"),
            WriteRecord(Verb.STATUS, web, "873", (FieldChange("readyReplicas", "", "2"),)),
        ),
        events=(EventRecord("Normal", "RollingOut", "Rolling out shop/web:1.42 to 3 pods."),),
        conditions=(
            ConditionRecord("Ready", "False", "WaitingForPods"),
            ConditionRecord("Progressing", "True", "WaitingForPods"),
        ),
        result=Result.WAITING,
        message="waiting for Deployment web",
    )
    operator.run(
        web,
        ago=253.9,
        generation=4,
        seconds=0.0021,
        causes=(CauseRecord(CauseType.CHANGED, deployment, "spec, status"),),
        reads=(Read("Deployment", 1, deployment, "871", 0.003),),
        result=Result.CONFLICT,
        reason="Conflict",
        message="Website web was changed by another client since it was read",
    )
    operator.run(
        web,
        ago=253.4,
        generation=4,
        seconds=0.0009,
        causes=(
            CauseRecord(CauseType.RETRY, detail="conflict"),
            CauseRecord(CauseType.CREATED, pod),
        ),
        more_causes=1,
        reads=(Read("Deployment", 1, deployment, "874", 0.003), Read("Pod", 3, age=0.003)),
        events=(EventRecord("Warning", "PodPending", "Pod web-7c9f-x7k2p is pending: no node fits."),),
        result=Result.WAITING,
        message="waiting for Pod web-7c9f-x7k2p",
    )
    pods = [
        TreeNode(object=ObjectName("Pod", "shop", "web-7c9f-4hq8t"), ready="True", detail="Running on node-2"),
        TreeNode(object=ObjectName("Pod", "shop", "web-7c9f-m2wzv"), ready="True", detail="Running on node-1"),
        TreeNode(object=pod, ready="False", detail="Pending: no node fits"),
    ]
    replica_set = TreeNode(
        object=ObjectName("ReplicaSet", "shop", "web-7c9f"), ready="False", detail="2 of 3 ready", children=tuple(pods)
    )
    operator.trees[web] = TreeNode(
        object=web,
        ready="False",
        detail="2 of 3 pods are ready",
        children=(
            TreeNode(object=deployment, ready="False", detail="2 of 3 available", children=(replica_set,)),
            TreeNode(object=ObjectName("Service", "shop", "web"), detail="10.104.12.8:80"),
            TreeNode(object=ObjectName("ConfigMap", "shop", "web-config"), detail="3 keys"),
            TreeNode(
                object=ObjectName("PodDisruptionBudget", "shop", "web"), ready="True", detail="1 disruption allowed"
            ),
        ),
    )


def _checkout(operator: SampleOperator) -> None:
    """Add an object that keeps failing."""
    checkout = ObjectName("Website", "shop", "checkout")
    operator.put(
        checkout,
        conditions=(ConditionRecord("Ready", "False", "CertificateMissing", "Secret checkout-tls has no key tls.crt"),),
        state=KeyState(KeyPhase.BACKING_OFF, operator.clock.now() + timedelta(seconds=38)),
    )
    for number in range(6):
        operator.run(
            checkout,
            ago=2.0 ** (6 - number) * 4.7,
            failures_before=number,
            seconds=0.0017,
            causes=(CauseRecord(CauseType.RETRY, detail=f"after {2**number} s"),),
            reads=(Read("Secret", 1, ObjectName("Secret", "shop", "checkout-tls"), "640", 0.5),),
            result=Result.FAILED,
            reason="KeyError",
            message="KeyError: 'tls.crt' in issue_certificate (website/tls.py:88)",
        )


def _others(operator: SampleOperator) -> None:
    now = operator.clock.now()
    failed = replace(
        READY, status="False", reason="InvalidImage", message="image shop/legacy@latest is not a reference"
    )
    rows: list[tuple[ObjectName, dict[str, Any], dict[str, Any]]] = [
        (
            ObjectName("Website", "shop", "legacy"),
            {"conditions": (failed,), "state": KeyState(KeyPhase.GAVE_UP)},
            {"ago": 3120, "result": Result.GAVE_UP, "reason": "InvalidImage", "message": failed.message},
        ),
        (
            ObjectName("Website", "blog", "landing"),
            {"conditions": (READY,), "state": KeyState(KeyPhase.SLOWED_DOWN, now + timedelta(seconds=11))},
            {
                "ago": 3.0,
                "number": 418,
                "causes": (CauseRecord(CauseType.CHANGED, ObjectName("Website", "blog", "landing"), "annotations"),),
            },
        ),
        (
            ObjectName("Website", "blog", "winter-sale"),
            {
                "conditions": (READY,),
                "state": KeyState(KeyPhase.PAUSED, now + timedelta(hours=2), detail="by lena, until 14:37"),
            },
            {"ago": 5400, "causes": (CauseRecord(CauseType.RESYNC),)},
        ),
        (
            ObjectName("Database", "shop", "archive"),
            {"is_deleting": True, "state": KeyState(KeyPhase.WAITING, now + timedelta(seconds=30))},
            {"ago": 95, "is_cleanup": True, "result": Result.WAITING, "message": "waiting for the last backup"},
        ),
        (
            ObjectName("Website", "shop", "cart"),
            {"conditions": (READY,), "state": KeyState(KeyPhase.HELD, now + timedelta(seconds=4))},
            {"ago": 0.4, "causes": (CauseRecord(CauseType.CREATED, ObjectName("Service", "shop", "cart")),)},
        ),
        (
            ObjectName("Website", "shop", "beta"),
            {"state": KeyState(KeyPhase.RUNNING)},
            {"ago": 12, "causes": (CauseRecord(CauseType.CREATED, ObjectName("Website", "shop", "beta")),)},
        ),
    ]
    for name, view, run in rows:
        operator.put(name, **view)
        operator.run(name, **run)
    operator.put(ObjectName("Website", "blog", "fresh"), state=KeyState(KeyPhase.QUEUED))


def _machinery(operator: SampleOperator) -> None:
    controller: Callable[..., ControllerState] = ControllerState
    operator.controllers = (
        controller(
            name="website",
            kind="Website",
            api_version="shop.example.com/v1",
            plural="websites",
            workers=8,
            keys={
                KeyPhase.IDLE: 12,
                KeyPhase.QUEUED: 1,
                KeyPhase.RUNNING: 1,
                KeyPhase.WAITING: 1,
                KeyPhase.HELD: 1,
                KeyPhase.BACKING_OFF: 1,
                KeyPhase.SLOWED_DOWN: 1,
                KeyPhase.GAVE_UP: 1,
                KeyPhase.PAUSED: 1,
            },
            failing=2,
            runs=18_204,
            failures=61,
        ),
        controller(
            name="database",
            kind="Database",
            api_version="shop.example.com/v1",
            plural="databases",
            workers=2,
            keys={KeyPhase.IDLE: 5, KeyPhase.WAITING: 1},
            runs=941,
        ),
    )
    operator.webhooks = (
        WebhookState(webhook="/validate-website", reviews=412, denied=3, slowest=0.018, last=operator.clock.now()),
    )
    cache: Callable[..., CacheState] = CacheState
    shop: dict[str, Any] = {"namespaces": ("shop", "blog"), "is_synced": True}
    operator.caches = (
        cache(kind="Website", api_version="shop.example.com/v1", objects=20, bytes=48_310, age=1.2, **shop),
        cache(kind="Database", api_version="shop.example.com/v1", objects=6, bytes=14_022, age=0.4, **shop),
        cache(
            kind="Deployment",
            api_version="apps/v1",
            objects=19,
            bytes=91_770,
            age=0.9,
            selector="managed-by=website",
            **shop,
        ),
        cache(kind="Pod", api_version="v1", objects=58, bytes=412_300, age=0.1, selector="managed-by=website", **shop),
        cache(kind="Service", api_version="v1", objects=19, bytes=22_408, age=3.1, **shop),
        cache(kind="Secret", api_version="v1", objects=31, bytes=9_120, age=12.6, is_metadata_only=True, **shop),
        cache(
            kind="Certificate",
            api_version="cert-manager.io/v1",
            namespaces=("shop", "blog"),
            reason="the server does not serve cert-manager.io/v1; next try in 42 s",
        ),
    )
