"""A plan as a JSON document, for programs and for comparing two versions of an operator."""

from typing import NamedTuple

from steersman.history.records import FieldChange, ObjectName, Result
from steersman.json_types import JsonObject
from steersman.objects.codec import decode_json, encode_json
from steersman.planning.plan import Action, Change, NoOpWrites, Plan, PlannedObject, SkippedCall, of_definitions


def plan_document(plan: Plan) -> JsonObject:
    """Return a plan as a JSON document."""
    return {
        "operators": list(plan.operators),
        "summary": {
            "objects": len(plan.objects),
            "leftOut": plan.left_out,
            **{f"{action.value}s": plan.count(action) for action in Action},
            "writesWithoutEffect": sum(one.count for one in plan.no_ops),
            "failures": len(plan.failures),
            "isEmpty": plan.is_empty,
            "hasSideEffects": plan.has_side_effects,
            "seconds": round(plan.seconds, 3),
        },
        "proposed": list(map(_change, plan.proposed)),
        "changes": list(map(_change, plan.changes)),
        "objects": list(map(_object, plan.objects)),
        "notCalled": list(map(_call, plan.calls)),
        "notes": list(plan.notes),
    }


def _object(one: PlannedObject) -> JsonObject:
    return _present(
        {
            **name_document(one.object),
            "controller": one.controller,
            "result": one.result.value,
            "message": one.message,
            "waitsFor": None if one.waits_for is None else name_document(one.waits_for),
            "runs": one.runs,
            "isAtRest": one.is_at_rest,
            "changes": list(map(_change, one.changes)),
            "notCalled": list(map(_call, one.calls)),
            "writesWithoutEffect": list(map(_no_op, one.no_ops)) or None,
        }
    )


def _change(change: Change) -> JsonObject:
    return _present(
        {
            "action": change.action.value,
            "apiVersion": change.api_version,
            **name_document(change.object),
            "fields": [_present(one._asdict()) for one in change.fields],
            "isCascade": change.is_cascade,
            "judgedLocally": change.judged_locally,
            "before": decode_json(change.before) if change.before else None,
            "after": decode_json(change.after) if change.after else None,
        }
    )


def _call(call: SkippedCall) -> JsonObject:
    return {"system": call.system, "description": call.description, "count": call.count}


def _no_op(writes: NoOpWrites) -> JsonObject:
    return {**name_document(writes.object), "count": writes.count, "isReverted": writes.is_reverted}


def name_document(name: ObjectName) -> JsonObject:
    """Return kind, namespace and name of an object."""
    return _present({"kind": name.kind, "namespace": name.namespace, "name": name.name})


def _present(document: JsonObject) -> JsonObject:
    """Return a document without empty texts and absent values."""
    return {key: value for key, value in document.items() if value not in ("", None)}


class ReadPlan(NamedTuple):
    """What a document says about a plan, such as one that another version of the operator printed."""

    #: The planned objects and CRDs.
    objects: tuple[PlannedObject, ...] = ()
    notes: tuple[str, ...] = ()
    left_out: int = 0
    has_side_effects: bool = False


def read_plan(document: JsonObject) -> ReadPlan:
    """Return what a document says about a plan; one of an older version may lack some of it."""
    summary = document.get("summary") or {}
    return ReadPlan(
        read_objects(document),
        tuple(document.get("notes") or ()),
        summary.get("leftOut", 0),
        summary.get("hasSideEffects", False),
    )


def read_objects(document: JsonObject) -> tuple[PlannedObject, ...]:
    """Return the planned objects and CRDs of a document."""
    objects = tuple(
        PlannedObject(
            controller=one["controller"],
            object=_read_name(one),
            changes=tuple(map(_read_change, one["changes"])),
            calls=tuple(
                SkippedCall(call["system"], call["description"], call["count"]) for call in one.get("notCalled", ())
            ),
            result=Result(one["result"]),
            message=one.get("message", ""),
            runs=one["runs"],
            is_at_rest=one["isAtRest"],
        )
        for one in document["objects"]
    )
    return (*objects, *of_definitions(map(_read_change, document["changes"])))


def _read_change(document: JsonObject) -> Change:
    return Change(
        action=Action(document["action"]),
        object=_read_name(document),
        api_version=document["apiVersion"],
        fields=tuple(
            FieldChange(one["path"], one.get("before", ""), one.get("after", "")) for one in document["fields"]
        ),
        after=encode_json(document["after"]) if "after" in document else b"",
    )


def _read_name(document: JsonObject) -> ObjectName:
    return ObjectName(document["kind"], document.get("namespace", ""), document["name"])
