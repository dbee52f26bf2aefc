"""`Bindings`: the rules of every user, found quickly.

Roles and bindings live in the objects. What was read from it is kept until one of them changes.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from steersman.apiserver.access.rbac.rules import Rule, rules_of
from steersman.apiserver.resources.object_store import ObjectStore
from steersman.apiserver.resources.request_context import User
from steersman.json_types import JsonObject
from steersman.objects.codec import decode_json

GROUP = "rbac.authorization.k8s.io"
CLUSTER_ROLES = f"clusterroles.{GROUP}"
CLUSTER_BINDINGS = f"clusterrolebindings.{GROUP}"
ROLES = f"roles.{GROUP}"
BINDINGS = f"rolebindings.{GROUP}"
RESOURCES = frozenset({CLUSTER_ROLES, CLUSTER_BINDINGS, ROLES, BINDINGS})
_SERVICE_ACCOUNT = "system:serviceaccount:"
#: How many users are remembered; who makes up more only makes the server look again.
_REMEMBERED = 1024


@dataclass(frozen=True, slots=True)
class Grant:
    """A role that a binding gives to a subject."""

    #: Where it holds; everywhere when it is empty.
    namespace: str
    #: As reasons tell it: ``RoleBinding "r/ns" of Role "r" to User "bob"``.
    told: str
    rules: tuple[Rule, ...]
    #: Why there are no rules: the role does not exist.
    missing: str = ""


@dataclass(frozen=True, slots=True)
class Rights:
    """Everything that was granted to one user: cluster-wide, then by namespace."""

    cluster: tuple[Grant, ...]
    by_namespace: dict[str, tuple[Grant, ...]]

    def grants(self, namespace: str) -> Iterator[Grant]:
        """Return the grants for requests in a namespace, or at the cluster scope."""
        yield from self.cluster
        if namespace:
            yield from self.by_namespace.get(namespace, ())


class Bindings:
    """Finds the rights of users."""

    def __init__(self, objects: ObjectStore) -> None:
        self._objects = objects
        self._by_subject: dict[tuple[str, str], list[tuple[int, Grant]]] | None = None
        self._rights: dict[tuple[str, tuple[str, ...]], Rights] = {}
        objects.listen(RESOURCES, lambda _: self.forget())

    def forget(self) -> None:
        """Read everything again: the store was changed as a whole."""
        self._by_subject = None
        self._rights.clear()

    def rights(self, user: User) -> Rights:
        """Return all grants of a user."""
        key = (user.name, user.groups)
        found = self._rights.get(key)
        if found is None:
            if len(self._rights) >= _REMEMBERED:
                self._rights.clear()
            found = self._rights[key] = self._collect(user)
        return found

    def role_rules(self, kind: str, name: str, namespace: str) -> tuple[Rule, ...] | None:
        """Return the rules of a role; ``None`` if it does not exist."""
        resource, place = (ROLES, namespace) if kind == "Role" else (CLUSTER_ROLES, "")
        record = self._objects.store.get(resource, place, name)
        return None if record is None else rules_of(decode_json(record.raw))

    def _collect(self, user: User) -> Rights:
        if self._by_subject is None:
            self._by_subject = self._read()
        subjects = [("User", user.name), *(("Group", group) for group in user.groups)]
        found = [entry for subject in subjects for entry in self._by_subject.get(subject, ())]
        found.sort(key=lambda entry: entry[0])
        seen: set[int] = set()
        cluster: list[Grant] = []
        by_namespace: dict[str, list[Grant]] = {}
        for place, grant in found:
            # A binding counts once, for the first of its subjects that the user is.
            if place in seen:
                continue
            seen.add(place)
            (by_namespace.setdefault(grant.namespace, []) if grant.namespace else cluster).append(grant)
        return Rights(tuple(cluster), {name: tuple(grants) for name, grants in by_namespace.items()})

    def _read(self) -> dict[tuple[str, str], list[tuple[int, Grant]]]:
        """Read all bindings, in the order in which they are asked."""
        found: dict[tuple[str, str], list[tuple[int, Grant]]] = {}
        place = 0
        roles: dict[tuple[str, str, str], tuple[Rule, ...] | None] = {}
        for resource, label in ((CLUSTER_BINDINGS, "ClusterRoleBinding"), (BINDINGS, "RoleBinding")):
            for record in self._objects.records_of(resource):
                binding = decode_json(record.raw)
                place += 1
                role = binding["roleRef"]
                key = (role["kind"], role["name"], record.namespace if role["kind"] == "Role" else "")
                if key not in roles:
                    roles[key] = self.role_rules(*key)
                shown = f"{record.name}/{record.namespace}" if record.namespace else record.name
                head = f'{label} "{shown}" of {role["kind"]} "{role["name"]}" to '
                for subject in binding.get("subjects") or ():
                    grant = _grant(record.namespace, head, subject, key, roles[key])
                    found.setdefault(_subject_key(subject, record.namespace), []).append((place, grant))
        return found


def _grant(
    namespace: str, head: str, subject: JsonObject, role: tuple[str, str, str], rules: tuple[Rule, ...] | None
) -> Grant:
    kind, name = subject["kind"], subject["name"]
    shown = f"{name}/{subject.get('namespace') or namespace}" if kind == "ServiceAccount" else name
    missing = f'{role[0].lower()}.{GROUP} "{role[1]}" not found' if rules is None else ""
    return Grant(namespace, f'{head}{kind} "{shown}"', rules or (), missing)


def _subject_key(subject: JsonObject, namespace: str) -> tuple[str, str]:
    if subject["kind"] == "ServiceAccount":
        place = subject.get("namespace") or namespace
        return "User", f"{_SERVICE_ACCOUNT}{place}:{subject['name']}"
    return subject["kind"], subject["name"]
