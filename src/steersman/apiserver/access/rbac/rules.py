"""What one rule of a role means: which requests it allows, and which other rules it includes. Pure."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from steersman.json_types import JsonObject


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule: verbs on resources of groups, perhaps only on some names; or verbs on paths."""

    verbs: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()

    def allows(self, verb: str, group: str, target: str, part: str, name: str) -> bool:
        """Return whether a request to a resource is allowed; ``target`` is ``pods/log`` if ``part`` is ``log``."""
        return (
            _has(self.verbs, verb)
            and _has(self.groups, group)
            and _has_resource(self.resources, target, part)
            and (not self.names or name in self.names)
        )

    def allows_path(self, verb: str, path: str) -> bool:
        """Return whether a request to a path that is not a resource is allowed."""
        return _has(self.verbs, verb) and any(_covers_path(known, path) for known in self.paths)

    def covers(self, other: "Rule") -> bool:
        """Return whether this rule allows everything that another one allows."""
        names = not self.names or (bool(other.names) and _has_all(self.names, other.names))
        return (
            _has_every(self.verbs, other.verbs)
            and _has_every(self.groups, other.groups)
            and _has_every_resource(self.resources, other.resources)
            and all(any(_covers_path(mine, path) for mine in self.paths) for path in other.paths)
            and names
        )

    def parts(self) -> Iterator["Rule"]:
        """Return the equivalent smallest rules: one verb, one group, one resource, one name, or one path."""
        names: Sequence[tuple[str, ...]] = [(name,) for name in self.names] or [()]
        for group in self.groups:
            for resource in self.resources:
                for verb in self.verbs:
                    for name in names:
                        yield Rule((verb,), (group,), (resource,), name)
        for path in self.paths:
            for verb in self.verbs:
                yield Rule((verb,), paths=(path,))

    def __str__(self) -> str:
        parts = (
            ("APIGroups", self.groups),
            ("Resources", self.resources),
            ("NonResourceURLs", self.paths),
            ("ResourceNames", self.names),
            ("Verbs", self.verbs),
        )
        return "{" + ", ".join(f"{label}:{quoted(values)}" for label, values in parts if values) + "}"


def quoted(values: Iterable[str]) -> str:
    """Write texts as messages list them: ``["a" "b"]``."""
    return "[" + " ".join('"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"' for value in values) + "]"


def rules_of(role: JsonObject) -> tuple[Rule, ...]:
    """Read the rules of a role."""
    return tuple(map(_rule, role.get("rules") or ()))


def _rule(rule: JsonObject) -> Rule:
    return Rule(
        tuple(rule.get("verbs") or ()),
        tuple(rule.get("apiGroups") or ()),
        tuple(rule.get("resources") or ()),
        tuple(rule.get("resourceNames") or ()),
        tuple(rule.get("nonResourceURLs") or ()),
    )


def document_of(rule: Rule) -> JsonObject:
    """Return a rule as a document, without empty members."""
    parts = (
        ("verbs", rule.verbs),
        ("apiGroups", rule.groups),
        ("resources", rule.resources),
        ("resourceNames", rule.names),
        ("nonResourceURLs", rule.paths),
    )
    return {key: list(values) for key, values in parts if values}


def missing_rights(held: Sequence[Rule], wanted: Iterable[Rule]) -> list[str]:
    """Name, sorted, what the wanted rules allow and the held ones do not."""
    missing = [part for rule in wanted for part in rule.parts() if not any(mine.covers(part) for mine in held)]
    return sorted({str(rule) for rule in _joined(missing)})


def _joined(parts: Iterable[Rule]) -> list[Rule]:
    """Join rules that differ only in their verb; rules on paths stay as they are."""
    joined: dict[tuple[tuple[str, ...], ...], Rule] = {}
    others = []
    for rule in parts:
        if rule.paths:
            others.append(rule)
            continue
        key = (rule.groups, rule.resources, rule.names)
        before = joined.get(key)
        joined[key] = rule if before is None else Rule(before.verbs + rule.verbs, *key)
    return [*others, *joined.values()]


def _has(known: tuple[str, ...], wanted: str) -> bool:
    return wanted in known or "*" in known


def _has_all(known: tuple[str, ...], wanted: tuple[str, ...]) -> bool:
    return all(value in known for value in wanted)


def _has_every(known: tuple[str, ...], wanted: tuple[str, ...]) -> bool:
    return "*" in known or _has_all(known, wanted)


def _has_resource(known: tuple[str, ...], target: str, part: str) -> bool:
    return target in known or "*" in known or (bool(part) and f"*/{part}" in known)


def _has_every_resource(known: tuple[str, ...], wanted: tuple[str, ...]) -> bool:
    return all(_has_resource(known, resource, resource.partition("/")[2]) for resource in wanted)


def _covers_path(known: str, path: str) -> bool:
    if known in ("*", path):
        return True
    return known.endswith("*") and path.startswith(known.rstrip("*"))
