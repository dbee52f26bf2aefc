"""Scenarios: seeded sequences of operations on one kind, with few names, so that they collide."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from tests.contract.difference.choices import Choices
from tests.contract.difference.definitions import Definition
from tests.contract.difference.kinds import KINDS, Document
from tests.contract.difference.operation import GROUP, NAMESPACE, Operation
from tests.contract.difference.workloads import labels

NAMES = ("a", "b", "c")
MANAGERS = ("one", "two", "three")
_MERGE = "application/merge-patch+json"
_JSON = "application/json-patch+json"
_STRATEGIC = "application/strategic-merge-patch+json"
_APPLY = "application/apply-patch+yaml"
#: Number of operations at the start of each scenario that create its namespace and kinds.
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
PARTIAL = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
PARTIAL_LIST = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"


@dataclass(frozen=True, slots=True)
class Scenario:
    """A sequence of operations, with a name by which it can be generated again."""

    name: str
    operations: list[Operation]


class ScenarioGenerator:
    """Generates one scenario."""

    def __init__(self, name: str, length: int, kinds: Sequence[str]) -> None:
        self._name = name
        self._kinds = kinds
        self._length = length
        self._rng = Choices(name)
        self._operations: list[Operation] = []
        #: The last operation whose answer shows an object, by the object's name.
        self._seen: dict[str, int] = {}
        self._listed: list[int] = []
        self._marks = 0
        self._names: tuple[str, ...] = NAMES

    def generate(self) -> Scenario:
        """Return the scenario."""
        rng = self._rng
        self._add("POST", "/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
        self._custom: Definition | None = None
        builtin = [kind for kind in KINDS if not self._kinds or kind.plural in self._kinds]
        if builtin and rng.chance(0.5 if not self._kinds or "things" in self._kinds else 1.0):
            self._kind = rng.of(builtin)
        else:
            self._custom = Definition(rng)
            self._kind = self._custom.kind()
            self._add("POST", DEFINITIONS, self._custom.document(), serves=self._collection)
        if self._is_shared:
            self._names = tuple(f"{NAMESPACE}-{name}" for name in NAMES)
        self._operation("GET", "", query="")
        self._listed.append(len(self._operations) - 1)
        while len(self._operations) < self._length:
            self._step()
        return Scenario(self._name, self._operations)

    def _change_definition(self) -> None:
        if self._custom is None:
            return
        self._custom.change()
        number = self._add("GET", f"{DEFINITIONS}/things.{GROUP}")
        patch = {"spec": self._custom.document()["spec"]}
        self._add("PUT", f"{DEFINITIONS}/things.{GROUP}", {"$changed": [number, patch]}, serves=self._collection)
        # A server that applies a changed CRD drops the history of its objects.
        self._listed = [self._operation("GET", "")]

    # Operations.

    @property
    def _collection(self) -> str:
        place = f"/namespaces/{NAMESPACE}" if self._kind.namespaced else ""
        return f"{self._kind.root}{place}/{self._kind.plural}"

    @property
    def _is_shared(self) -> bool:
        """Return whether objects of other scenarios are in the same collection."""
        return not self._kind.namespaced and self._custom is None

    def _add(self, method: str, path: str, body: Any = None, **others: str) -> int:
        number = len(self._operations)
        self._operations.append(Operation(number, method, path, body, **others))
        return number

    def _operation(self, method: str, name: str, body: Any = None, *, query: str = "", **others: str) -> int:
        target = self._collection + (f"/{name}" if name else "")
        if self._is_shared and not name:
            others["own"] = NAMESPACE
        number = self._add(method, target + (f"?{query}" if query else ""), body, **others)
        if name and method in ("PUT", "PATCH", "GET") and "dryRun" not in query and "/scale" not in name:
            self._seen[name.partition("/")[0]] = number
        return number

    def _step(self) -> None:
        if self._custom is not None:
            self._kind = self._custom.kind()
        choices: dict[Callable[[], None], int] = dict(_STEPS(self))
        self._rng.weighted(choices)()

    def _name_of(self) -> str:
        return self._rng.of(self._names)

    def _document(self, name: str, *, metadata: bool = True) -> Document:
        rng = self._rng
        head: Document = {"name": name}
        if metadata:
            rng.maybe(head, 0.4, labels=lambda: labels(rng))
            rng.maybe(
                head,
                0.12,
                annotations=lambda: {"x.dev/n": rng.pick("1", "2", "")},
                finalizers=lambda: rng.some(["x.dev/hold", "y.dev/hold"], 1),
                ownerReferences=lambda: [
                    {
                        "apiVersion": "v1",
                        "kind": "ConfigMap",
                        "name": "o",
                        "uid": "00000000-0000-0000-0000-000000000001",
                    }
                ],
            )
        return {
            "apiVersion": self._kind.api_version,
            "kind": self._kind.kind,
            "metadata": head,
            **self._kind.make(rng),
        }

    def _query(self, *, applying: bool = False) -> str:
        rng, parts = self._rng, []
        if applying:
            parts.append(f"fieldManager={rng.of(MANAGERS)}")
            if rng.chance(0.4):
                parts.append("force=true")
        elif rng.chance(0.5):
            parts.append(f"fieldManager={rng.of(MANAGERS)}")
        if rng.chance(0.06):
            parts.append("dryRun=All")
        if rng.chance(0.25):
            parts.append(f"fieldValidation={rng.pick('Strict', 'Warn', 'Ignore')}")
        return "&".join(parts)

    def create(self) -> None:
        """POST an object, often one that exists already."""
        name = self._name_of()
        document = self._document(name)
        query = self._query()
        if self._rng.chance(0.03):
            document["metadata"] = self._rng.pick(
                {"generateName": "g-"}, {}, {"name": "Bad_Name"}, {"name": name, "namespace": "other"}
            )
            query += "&dryRun=All"
        number = self._operation("POST", "", document, query=query)
        if "dryRun" not in query:
            self._seen.setdefault(name, number)

    def get(self) -> None:
        """GET an object, in some format."""
        accept = self._rng.pick("application/json", "application/json", TABLE, PARTIAL)
        if accept == "application/json":
            self._operation("GET", self._name_of(), query="")
        else:
            self._add("GET", f"{self._collection}/{self._name_of()}", accept=accept)

    def replace(self) -> None:
        """PUT a new object over one that may exist, with or without its version."""
        name = self._name_of()
        document = self._document(name)
        if name in self._seen and self._rng.chance(0.75):
            document["metadata"]["resourceVersion"] = {"$from": [self._seen[name], "/metadata/resourceVersion"]}
        if self._rng.chance(0.03):
            document["metadata"].update(
                self._rng.pick({"resourceVersion": "1"}, {"uid": "x"}, {"name": "z"}, {"resourceVersion": "abc"})
            )
        self._operation("PUT", name, document, query=self._query())

    def modify(self) -> None:
        """Read an object, change a part of it and write it back."""
        name = self._name_of()
        number = self._operation("GET", name)
        self._operation("PUT", name, {"$changed": [number, self._fragment(name)]}, query=self._query())

    def _fragment(self, name: str) -> Document:
        """Return a part of a new object, as a patch."""
        rng = self._rng
        fragment: Document = rng.part_of(self._kind.make(rng), 0.5)
        metadata: Document = {}
        rng.maybe(metadata, 0.3, labels=lambda: {**labels(rng), rng.pick("app", "q"): rng.pick(None, "z")})
        rng.maybe(metadata, 0.1, finalizers=lambda: rng.pick(None, ["x.dev/hold"], []), annotations=lambda: {"x": "1"})
        if metadata:
            fragment["metadata"] = metadata
        for key in list(fragment):
            if rng.chance(0.08):
                fragment[key] = None
        if isinstance(spec := fragment.get("spec"), dict) and rng.chance(0.25) and spec:
            spec[rng.of(sorted(spec))] = None
        del name
        return fragment

    def merge(self) -> None:
        """PATCH by a merge."""
        name = self._name_of()
        self._operation("PATCH", name, self._fragment(name), query=self._query(), content_type=_MERGE)

    def strategic(self) -> None:
        """PATCH by a strategic merge, sometimes with a directive."""
        name = self._name_of()
        fragment = self._fragment(name)
        if self._rng.chance(0.2):
            self._direct(fragment)
        self._operation("PATCH", name, fragment, query=self._query(), content_type=_STRATEGIC)

    def _direct(self, value: Any) -> None:
        if isinstance(value, dict):
            lists = [key for key, part in value.items() if isinstance(part, list) and part]
            if lists and isinstance(value[lists[0]][0], dict) and self._rng.chance(0.5):
                value[lists[0]][0]["$patch"] = self._rng.pick("delete", "replace")
            elif self._rng.chance(0.15):
                value["$patch"] = self._rng.pick("replace", "delete")
            for part in value.values():
                self._direct(part)
        elif isinstance(value, list):
            for part in value:
                self._direct(part)

    def json_patch(self) -> None:
        """PATCH by JSON operations on paths that such an object may have."""
        rng, name = self._rng, self._name_of()
        fresh = self._document(name)
        places = list(_places(fresh))
        steps = []
        for _ in range(rng.number(1, 3)):
            pointer, found = rng.of(places)
            step: Document = {
                "op": rng.weighted({"add": 4, "replace": 4, "remove": 2, "test": 1, "copy": 1, "move": 1})
            }
            step["path"] = pointer
            if step["op"] in ("add", "replace", "test"):
                step["value"] = found
            elif step["op"] in ("copy", "move"):
                step["from"] = rng.of(places)[0]
            if not {step["path"], step.get("from")} & {"/apiVersion", "/kind"}:
                steps.append(step)
        self._operation("PATCH", name, steps, query=self._query(), content_type=_JSON)

    def apply(self) -> None:
        """Apply a part of an object as one of several managers."""
        name = self._name_of()
        document = self._document(name)
        keep = self._rng.pick(1.0, 1.0, 0.97, 0.9, 0.75)
        document = {
            **self._rng.part_of({key: part for key, part in document.items() if key != "metadata"}, keep),
            "apiVersion": self._kind.api_version,
            "kind": self._kind.kind,
            "metadata": document["metadata"],
        }
        self._operation("PATCH", name, document, query=self._query(applying=True), content_type=_APPLY)

    def status(self) -> None:
        """Write the status, by PUT or some patch."""
        rng, name = self._rng, self._name_of()
        make = self._kind.status or (lambda _: {})
        notation = rng.pick("put", _MERGE, _MERGE, _APPLY, _JSON)
        if notation == "put":
            document: Any = self._document(name)
            document["status"] = make(rng)
            if name in self._seen:
                document["metadata"]["resourceVersion"] = {"$from": [self._seen[name], "/metadata/resourceVersion"]}
            self._operation("PUT", f"{name}/status", document, query=self._query())
            return
        query = self._query(applying=notation == _APPLY)
        document = {"status": make(rng)}
        if notation == _APPLY:
            document |= {"apiVersion": self._kind.api_version, "kind": self._kind.kind, "metadata": {"name": name}}
        elif notation == _JSON:
            document = [{"op": "add", "path": "/status", "value": make(rng)}]
        elif rng.chance(0.2):
            document["spec"] = self._kind.make(rng).get("spec")
        self._operation("PATCH", f"{name}/status", document, query=query, content_type=notation)

    def scale(self) -> None:
        """Read or write the scale."""
        rng, name = self._rng, self._name_of()
        match rng.pick("get", "put", "merge", "merge", "apply", "json"):
            case "get":
                self._operation("GET", f"{name}/scale")
            case "put":
                document = {
                    "apiVersion": "autoscaling/v1",
                    "kind": "Scale",
                    "metadata": {"name": name, **({"namespace": NAMESPACE} if self._kind.namespaced else {})},
                    "spec": {"replicas": rng.pick(0, 1, 3, -1)},
                }
                self._operation("PUT", f"{name}/scale", document, query=self._query())
            case "apply":
                wanted = {"apiVersion": "autoscaling/v1", "kind": "Scale", "spec": {"replicas": rng.pick(0, 1, 3)}}
                query = self._query(applying=True)
                self._operation("PATCH", f"{name}/scale", wanted, query=query, content_type=_APPLY)
            case "json":
                steps = [{"op": rng.pick("add", "replace"), "path": "/spec/replicas", "value": rng.pick(0, 2, -1)}]
                self._operation("PATCH", f"{name}/scale", steps, query=self._query(), content_type=_JSON)
            case _:
                patch = {"spec": {"replicas": rng.pick(0, 1, 3, -1, None, "x")}}
                self._operation("PATCH", f"{name}/scale", patch, query=self._query(), content_type=_MERGE)

    def delete(self) -> None:
        """DELETE an object, with some policy and precondition."""
        rng, name = self._rng, self._name_of()
        options: Document = {}
        rng.maybe(
            options,
            0.25,
            propagationPolicy=lambda: rng.pick("Foreground", "Background", "Orphan"),
            gracePeriodSeconds=lambda: rng.pick(0, 0, 1, 30),
            preconditions=lambda: self._preconditions(name),
        )
        if rng.chance(0.05):
            options["dryRun"] = ["All"]
        self._operation("DELETE", name, options or None)

    def _preconditions(self, name: str) -> Document:
        number = self._seen.get(name, 0)
        return self._rng.pick(
            {"uid": {"$from": [number, "/metadata/uid"]}},
            {"resourceVersion": {"$from": [number, "/metadata/resourceVersion"]}},
            {"uid": "00000000-0000-0000-0000-000000000002"},
            {"resourceVersion": "1"},
        )

    def delete_collection(self) -> None:
        """DELETE several objects."""
        by_name = f"fieldSelector=metadata.name%3D{self._names[0]}"
        # Objects of other scenarios must stay.
        by_label = by_name if self._is_shared else self._rng.pick("labelSelector=app%3Da", "labelSelector=tier")
        self._operation("DELETE", "", query=self._rng.pick(by_label, by_label, by_name))

    def release(self) -> None:
        """Remove all finalizers."""
        self._operation("PATCH", self._name_of(), {"metadata": {"finalizers": None}}, content_type=_MERGE)

    def list(self) -> None:
        """List with some selector, in some format."""
        rng = self._rng
        query = rng.pick(
            "",
            "",
            "labelSelector=app%3Da",
            "labelSelector=app+in+(a,b),tier!%3Dc",
            "labelSelector=!x.dev/y",
            "labelSelector=app%3E1",
            "labelSelector=bad selector!".replace(" ", "%20"),
            f"fieldSelector=metadata.name%3D{self._names[0]}",
            f"fieldSelector=metadata.name!%3D{self._names[0]}",
            "fieldSelector=spec.nothing%3Da",
            "fieldSelector=spec.replicas%3D1",
            "resourceVersion=0",
            "resourceVersionMatch=Exact",
            "limit=-1",
        )
        accept = rng.pick("application/json", "application/json", TABLE, PARTIAL_LIST)
        if query == "resourceVersion=0":
            # The real server answers from a cache that may lag.
            query = ""
        self._operation("GET", "", query=query, accept=accept)

    def page(self) -> None:
        """List in pages, with a write between them."""
        selection = self._rng.pick("", "", "&labelSelector=app")
        number = self._operation("GET", "", query=f"limit=1{selection}")
        if self._rng.chance(0.4):
            self._rng.pick(self.create, self.delete, self.merge)()
        self._operation("GET", "", query=f"limit=1{selection}&continue={{{number}:/metadata/continue}}")

    def watch(self) -> None:
        """Watch from an earlier list until now."""
        rng, since = self._rng, self._rng.of(self._listed)
        self._marks += 1
        name = f"{NAMESPACE}-mark-{self._marks}" if self._is_shared else f"mark-{self._marks}"
        plain = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "labels": {"app": "a"}}}
        if self._kind.kind != "ConfigMap":
            # The last write must be of the watched kind; if it is rejected, the watch ends by its timeout.
            plain = self._marker(name)
        self._operation("POST", "", plain)
        selection = rng.pick("", "", "&labelSelector=app%3Da", "&allowWatchBookmarks=true")
        version = f"resourceVersion={{{since}:/metadata/resourceVersion}}"
        # The first event of a table has its columns, and may belong to another scenario.
        table = PARTIAL if self._is_shared else TABLE
        accept = rng.pick("application/json", "application/json", table, PARTIAL)
        self._operation("GET", "", query=f"watch=true&{version}{selection}", until=name, accept=accept)
        self._operation("DELETE", name, {"gracePeriodSeconds": 0})
        self._listed.append(self._operation("GET", "", query="" if self._is_shared else "limit=500"))

    def _marker(self, name: str) -> Document:
        document = {
            "apiVersion": self._kind.api_version,
            "kind": self._kind.kind,
            **self._kind.make(Choices("marker 4")),
        }
        return {**document, "metadata": {"name": name, "labels": {"app": "a"}}}


def _places(value: Any, pointer: str = "") -> Iterator[tuple[str, Any]]:
    if pointer:
        yield pointer, value
    if isinstance(value, dict):
        for key, part in value.items():
            yield from _places(part, f"{pointer}/{key.replace('~', '~0').replace('/', '~1')}")
    elif isinstance(value, list):
        for index, part in enumerate(value):
            yield from _places(part, f"{pointer}/{index}")
        yield f"{pointer}/-", value[0] if value else "new"


def _STEPS(teller: ScenarioGenerator) -> dict[Callable[[], None], int]:  # noqa: N802 - a table
    kind = teller._kind
    steps = {
        teller.create: 14,
        teller.get: 4,
        teller.replace: 7,
        teller.modify: 6,
        teller.merge: 9,
        teller.strategic: 8 if teller._custom is None else 1,
        teller.json_patch: 7,
        teller.apply: 16,
        teller.delete: 7,
        teller.delete_collection: 1,
        teller.release: 4,
        teller.list: 4,
        teller.watch: 2,
    }
    if kind.has_status:
        steps[teller.status] = 8
    if kind.has_scale:
        steps[teller.scale] = 4
    if teller._custom is not None:
        steps[teller._change_definition] = 1
    if not teller._is_shared:
        steps[teller.page] = 1
    return steps


def scenario(seed: str, index: int, length: int, kinds: Sequence[str] = ()) -> Scenario:
    """Generate one scenario of a run; ``kinds`` are plurals, ``things`` are custom resources of random schemas."""
    return ScenarioGenerator(f"{seed}/{index}", length, kinds).generate()
