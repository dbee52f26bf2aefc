"""What was compared: how many operations of each kind, and under which circumstances."""

from collections import Counter
from collections.abc import Iterable

from tests.contract.difference.operation import Operation, target
from tests.contract.difference.run import Result

_PATCHES = {
    "application/merge-patch+json": "merge patch",
    "application/json-patch+json": "JSON patch",
    "application/strategic-merge-patch+json": "strategic merge patch",
    "application/apply-patch+yaml": "apply",
}
_WRITES = {"POST": "create", "PUT": "update"}
#: Part of a query or a body → the circumstance that it indicates.
_CIRCUMSTANCES = {
    "dryRun=All": "dry run",
    "labelSelector": "label selector",
    "fieldSelector": "field selector",
    "fieldValidation": "field validation",
    "force=true": "forced apply",
    "continue=": "next page",
    "as=Table": "as a table",
    "as=PartialObjectMetadata": "only metadata",
    "'propagationPolicy': 'Foreground'": "foreground delete",
    "'propagationPolicy': 'Background'": "background delete",
    "'propagationPolicy': 'Orphan'": "orphaning delete",
    "'preconditions'": "delete with preconditions",
    "'finalizers'": "finalizers",
    "'x-kubernetes-validations'": "schema with CEL rules",
}


def kind_of(operation: Operation) -> str:
    """Return what an operation does."""
    path, _, query = operation.path.partition("?")
    _, name, part = target(path)
    if "customresourcedefinitions" in path:
        return "custom resource definition"
    part = f" of {part}" if part else ""
    if operation.method == "PATCH":
        return _PATCHES[operation.content_type] + part
    if operation.method in _WRITES:
        return _WRITES[operation.method] + part
    if operation.method == "DELETE":
        return "delete" if name else "delete collection"
    if operation.until:
        return "watch"
    if name:
        return "get" + part
    return "page" if "limit=1" in query.split("&") else "list"


def circumstances(operation: Operation) -> list[str]:
    """Yield what is special about an operation."""
    text = f"{operation.path} {operation.accept} {operation.body}"
    return [name for mark, name in _CIRCUMSTANCES.items() if mark in text]


def _counted(names: Iterable[str]) -> str:
    return ", ".join(f"{count} {name}" for name, count in Counter(names).most_common())


def summary(played: list[Result]) -> str:
    """Return what was compared."""
    exchanges = [exchange for one in played for exchange in one.exchanges]
    found = sum(len(one.differences) for one in played)
    lines = [
        f"{len(exchanges)} operations in {len(played)} scenarios compared; {found} differ",
        "answers: " + _counted(str(answer.status) for _, answer in exchanges),
        "operations: " + _counted(kind_of(operation) for operation, _ in exchanges),
        "among them: " + _counted(name for operation, _ in exchanges for name in circumstances(operation)),
        "resources: " + _counted(_resource(operation) for operation, _ in exchanges),
    ]
    explained = Counter(reason for one in played for reason in one.explained)
    lines += [f"explained: {count} x {reason}" for reason, count in explained.items()]
    return "\n".join(lines)


def _resource(operation: Operation) -> str:
    return target(operation.path.partition("?")[0])[0]
