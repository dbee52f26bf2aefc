"""A plan with everything that a page about it can show, and what makes it."""

import json

from steersman.errors import ConfigError
from steersman.history.records import FieldChange, ObjectName, Result
from steersman.objects.codec import encode_json
from steersman.planning.document import plan_document
from steersman.planning.plan import Action, Change, NoOpWrites, Plan, PlannedObject, SkippedCall
from steersman.webview.plans import PlanRequest

WEB = ObjectName("Website", "shop", "web")
PAUSED = ObjectName("Website", "blog", "winter-sale")


def change(action: Action, name: ObjectName, *fields: tuple[str, str, str], **more: object) -> Change:
    """Return a change of some fields."""
    after = b"" if action is Action.DELETE else encode_json({"metadata": {}})
    known = {"action": action, "object": name, "api_version": "v1", "after": after}
    return Change(fields=tuple(FieldChange(*one) for one in fields), **{**known, **more})  # type: ignore[arg-type]


PAUSE = change(Action.CHANGE, PAUSED, ("metadata.annotations[steersman.dev/paused]", "true", ""))
EDIT = change(Action.CHANGE, WEB, ("spec.replicas", "2", "3"))
OBJECTS = (
    PlannedObject(
        controller="website",
        object=WEB,
        changes=(
            change(
                Action.CHANGE,
                ObjectName("Deployment", "shop", "web"),
                ("spec.template.spec.containers[main].image", "registry.example.com/shop/web:1.41", "shop/web:1.42"),
                ("spec.replicas", "2", "3"),
            ),
            change(
                Action.CREATE,
                ObjectName("ConfigMap", "shop", "web-config"),
                *((f"data.key-{number}", "", "x") for number in range(20)),
            ),
            change(Action.DELETE, ObjectName("Service", "shop", "old"), is_cascade=True),
            change(
                Action.REPLACE,
                ObjectName("Job", "shop", "migrate"),
                ("spec.template.spec.containers[main].image", "shop/migrate:7", "shop/migrate:8"),
            ),
            change(
                Action.CHANGE,
                ObjectName("Secret", "shop", "tls"),
                ("data.key", "<hash 3f9a0c41d2b7>", "<hash b81e5d07a4c6>"),
            ),
        ),
        calls=(SkippedCall("https://dns.example.com", "POST", 2),),
    ),
    PlannedObject(
        controller="website", object=WEB._replace(name="checkout"), result=Result.FAILED, message="KeyError: 'tls.crt'"
    ),
    PlannedObject(
        controller="website", object=PAUSED, changes=(change(Action.CHANGE, PAUSED, ("status.pods", "1", "3")),)
    ),
    PlannedObject(
        controller="website",
        object=WEB._replace(name="quiet"),
        no_ops=(NoOpWrites(ObjectName("ConfigMap", "shop", "same"), 3),),
    ),
)


def sample_plan(*proposed: Change, objects: tuple[PlannedObject, ...] = OBJECTS) -> Plan:
    """Return a plan; by default of four objects."""
    return Plan(
        operators=("website",),
        objects=objects,
        proposed=proposed,
        changes=(
            change(
                Action.CHANGE,
                ObjectName("CustomResourceDefinition", "", "websites"),
                ("spec.versions[v1].schema.openAPIV3Schema.properties.spec.properties.replicas.maximum", "50", "100"),
            ),
        ),
        calls=(SkippedCall("https://dns.example.com", "POST", 2),),
        notes=("not run: background function beat of operator website",),
        left_out=7,
        seconds=1.4,
    )


class SamplePlans:
    """Returns the sample, and records what was asked for."""

    def __init__(self) -> None:
        self.asked: list[PlanRequest] = []

    async def plan(self, wanted: PlanRequest) -> bytes:
        """Return a plan; a text without a kind is rejected."""
        self.asked.append(wanted)
        if wanted.text and "kind:" not in wanted.text:
            raise ConfigError("line 1: the object has no kind")
        proposed = (PAUSE,) if wanted.resume else (EDIT,) if wanted.text else ()
        return json.dumps(plan_document(sample_plan(*proposed))).encode()
