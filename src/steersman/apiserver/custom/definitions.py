"""Custom resources come and go: what a CustomResourceDefinition makes the server do.

A definition is served as soon as its create returns; the conditions that a real server sets a moment later are set at
once, each as a write of its own, so that watchers see the same steps.
"""

from steersman.apiserver.custom.conversion import Conversions, Converter
from steersman.apiserver.custom.strategy import CustomStrategy
from steersman.apiserver.resources.catalog import Catalog, version_rank
from steersman.apiserver.resources.object_store import ObjectStore
from steersman.apiserver.resources.ownership import Ownership
from steersman.apiserver.resources.served_resource import ALL_VERBS, ServedResource, Subresource
from steersman.apiserver.storage.record import Record
from steersman.apiserver.watch.hub import WatchHub
from steersman.clock import Clock
from steersman.json_types import JsonObject
from steersman.objects.codec import decode_json
from steersman.objects.identity import ApiResource, GroupVersionKind
from steersman.objects.times import format_time

FINALIZER = "customresourcecleanup.apiextensions.k8s.io"
_PART_VERBS = ("get", "patch", "update")
#: Name → the reason why it is not accepted when another definition has it.
_CONFLICTS = {
    "plural": "PluralConflict",
    "singular": "SingularConflict",
    "shortNames": "ShortNamesConflict",
    "kind": "KindConflict",
    "listKind": "ListKindConflict",
}
_RESOURCE = "customresourcedefinitions.apiextensions.k8s.io"


def _condition(kind: str, status: str, reason: str, message: str, time: str) -> JsonObject:
    return {"type": kind, "status": status, "lastTransitionTime": time, "reason": reason, "message": message}


class CustomResources:
    """Serves what definitions define."""

    def __init__(
        self,
        objects: ObjectStore,
        catalog: Catalog,
        hub: WatchHub,
        ownership: Ownership,
        clock: Clock,
        conversions: Conversions,
    ) -> None:
        self._ownership = ownership
        self._objects = objects
        self._catalog = catalog
        self._hub = hub
        self._clock = clock
        self._conversions = conversions
        #: What `restore` served last, by the version of the server and the definition: compiled schemas are kept.
        self._restored: dict[tuple[int, bytes], list[ServedResource]] = {}

    def _served(self) -> ServedResource:
        served = self._catalog.find("apiextensions.k8s.io", "v1", "customresourcedefinitions")
        assert served is not None  # noqa: S101 - built in
        return served

    def changed(self, crd: JsonObject | None, old: JsonObject | None) -> None:
        """Follow a write to a definition."""
        if crd is None:
            if old is not None:
                self._forget(old)
        elif "deletionTimestamp" in crd["metadata"]:
            self._clean_up(crd)
        else:
            self._accept(crd, old)

    def _accept(self, crd: JsonObject, old: JsonObject | None) -> None:
        conditions = (crd.get("status") or {}).get("conditions") or []
        established = any(item["type"] == "Established" and item["status"] == "True" for item in conditions)
        if established:
            if old is not None and old["spec"] != crd["spec"]:
                self._serve_changed(crd, conditions)
            return
        accepted, conflict = self._accepted_names(crd)
        if conflict is not None:
            self._refuse_names(crd, accepted, *conflict)
            return
        self._establish(crd)
        self.serve(crd)

    def _serve_changed(self, crd: JsonObject, conditions: list[JsonObject]) -> None:
        """Serve a CRD by its new rules, and close existing watches, so that their clients reconnect."""
        self._set_status(crd, conditions)
        self.serve(crd)
        self._hub.close_resource(crd["metadata"]["name"])

    def _accepted_names(self, crd: JsonObject) -> tuple[JsonObject, tuple[str, str] | None]:
        """Return the names that no other definition of the group has, and reason and text of the last conflict."""
        names, taken = crd["spec"]["names"], self._taken_names(crd)
        accepted: JsonObject = {"plural": "", "kind": ""}
        conflict: tuple[str, str] | None = None
        for key, reason in _CONFLICTS.items():
            asked = names.get(key) or ()
            used = [name for name in ([asked] if isinstance(asked, str) else asked) if name in taken]
            if used:
                conflict = reason, f'"{used[0]}" is already in use'
            elif asked:
                accepted[key] = asked
        return accepted, conflict

    def _taken_names(self, crd: JsonObject) -> set[str]:
        """Return all names of the other definitions of the group."""
        taken: set[str] = set()
        for record in self._objects.records_of(_RESOURCE):
            if record.name == crd["metadata"]["name"] or not record.name.endswith(f".{crd['spec']['group']}"):
                continue
            other = self._objects.document(self._served(), record)
            accepted = (other.get("status") or {}).get("acceptedNames") or {}
            taken.update(accepted[key] for key in _CONFLICTS if isinstance(accepted.get(key), str))
            taken.update(accepted.get("shortNames") or ())
        return taken

    def _refuse_names(self, crd: JsonObject, accepted: JsonObject, reason: str, message: str) -> None:
        time = format_time(self._clock.now())
        waiting = "not all names are accepted"
        self._set_status(
            crd,
            [
                _condition("NamesAccepted", "False", reason, message, time),
                _condition("Established", "False", "NotAccepted", waiting, time),
            ],
            accepted=accepted,
        )

    def _establish(self, crd: JsonObject) -> None:
        time = format_time(self._clock.now())
        accepted = _condition("NamesAccepted", "True", "NoConflicts", "no conflicts found", time)
        installing = _condition("Established", "False", "Installing", "the initial names have been accepted", time)
        established = _condition(
            "Established", "True", "InitialNamesAccepted", "the initial names have been accepted", time
        )
        self._set_status(crd, [accepted, installing])
        self._set_status(crd, [accepted, established])

    def _set_status(self, crd: JsonObject, conditions: list[JsonObject], *, accepted: JsonObject | None = None) -> None:
        served = self._served()
        record = self._objects.get(served, "", crd["metadata"]["name"])
        if record is None:
            return
        live = self._objects.document(served, record)
        status = dict(live.get("status") or {})
        stored = list(status.get("storedVersions") or ())
        storage = next(entry["name"] for entry in live["spec"]["versions"] if entry["storage"])
        if storage not in stored:
            stored.append(storage)
        names = live["spec"]["names"] if accepted is None else accepted
        after = {"conditions": conditions, "acceptedNames": names, "storedVersions": stored}
        if after != status:
            made = {**live, "status": after}
            made = self._ownership.updated(
                served, live, made, "kube-apiserver", format_time(self._clock.now()), "status"
            )
            self._objects.put(served, made)

    def serve(self, crd: JsonObject) -> None:
        """Serve every served version of a definition, and no other."""
        spec = crd["spec"]
        names, group = spec["names"], spec["group"]
        stored_as = crd["metadata"]["name"]
        storage = next(entry["name"] for entry in spec["versions"] if entry["storage"])
        kept = frozenset(entry["name"] for entry in spec["versions"] if entry["served"])
        self._catalog.remove(group, names["plural"], keep=kept)
        for version in spec["versions"]:
            if version["served"]:
                self._catalog.add(self._resource(crd, version, stored_as, storage))

    def _resource(self, crd: JsonObject, version: JsonObject, stored_as: str, storage: str) -> ServedResource:
        spec = crd["spec"]
        names = spec["names"]
        gvk = GroupVersionKind(spec["group"], version["name"], names["kind"])
        converter = self._converter(spec)
        strategy = CustomStrategy(crd, version, rules_since=self._objects.version, converter=converter)
        parts: dict[str, Subresource] = {}
        if strategy.has_status:
            parts["status"] = Subresource("status", gvk, _PART_VERBS)
        if strategy.scale is not None:
            parts["scale"] = Subresource("scale", GroupVersionKind("autoscaling", "v1", "Scale"), _PART_VERBS)
        resource = ApiResource(
            gvk=gvk,
            plural=names["plural"],
            singular=names.get("singular") or names["kind"].lower(),
            namespaced=spec["scope"] == "Namespaced",
            short_names=tuple(names.get("shortNames") or ()),
            categories=tuple(names.get("categories") or ()),
            subresources=frozenset(parts),
        )
        return ServedResource(
            resource=resource,
            strategy=strategy,
            verbs=frozenset(ALL_VERBS),
            subresources=parts,
            builtin=False,
            stored_as=stored_as,
            stored_version=storage,
            deprecation=_deprecation(gvk, version, spec["versions"]),
            list_kind=names.get("listKind") or f"{names['kind']}List",
            is_converted=converter is not None,
        )

    def _converter(self, spec: JsonObject) -> Converter | None:
        """Return the converter of a definition's objects; ``None`` without a webhook."""
        conversion = spec.get("conversion") or {}
        if conversion.get("strategy") != "Webhook":
            return None
        return Converter(self._conversions, (conversion.get("webhook") or {}).get("clientConfig") or {})

    def restore(self) -> None:
        """Serve what the definitions in the store define, and nothing else."""
        for served in list(self._catalog):
            if not served.builtin:
                self._catalog.remove(served.group, served.plural)
        before, self._restored = self._restored, {}
        for record in self._objects.records_of(_RESOURCE):
            key = (self._objects.version, record.raw)
            self._restored[key] = before.get(key) or self._established(record)
            for served in self._restored[key]:
                self._catalog.add(served)

    def _established(self, record: Record) -> list[ServedResource]:
        """Serve a definition if it is established; return its resources."""
        crd = self._objects.document(self._served(), record)
        conditions = (crd.get("status") or {}).get("conditions") or []
        if not any(item["type"] == "Established" and item["status"] == "True" for item in conditions):
            return []
        self.serve(crd)
        return self._catalog.versions_of(crd["spec"]["group"], crd["spec"]["names"]["plural"])

    def _clean_up(self, crd: JsonObject) -> None:
        """Delete all objects of a definition that goes, then let it go."""
        if FINALIZER not in crd["metadata"].get("finalizers", ()):
            return
        served = self._served()
        resource = crd["metadata"]["name"]
        time = format_time(self._clock.now())
        record = self._objects.get(served, "", resource)
        if record is None:
            return
        live = self._objects.document(served, record)
        conditions = [item for item in live["status"].get("conditions") or () if item["type"] != "Terminating"]
        text = "CustomResource deletion is in progress"
        conditions.append(_condition("Terminating", "True", "InstanceDeletionInProgress", text, time))
        live["status"]["conditions"] = conditions
        self._objects.put(served, live)
        if not self._delete_instances(live):
            return
        record = self._objects.get(served, "", resource)
        if record is not None:
            gone = self._objects.document(served, record)
            gone["metadata"]["finalizers"] = [name for name in gone["metadata"]["finalizers"] if name != FINALIZER]
            if gone["metadata"]["finalizers"]:
                self._objects.put(served, gone)
                return
            self._objects.remove(served, record)
            self._forget(gone)

    def _delete_instances(self, crd: JsonObject) -> bool:
        """Delete every object of a definition; tell whether none is left."""
        spec = crd["spec"]
        found = self._catalog.versions_of(spec["group"], spec["names"]["plural"])
        if not found:
            return True
        served = next((version for version in found if version.is_stored_form), found[0])
        left = False
        for record in self._objects.records(served):
            # As it is stored: the webhook that converts it may be gone already.
            obj: JsonObject = decode_json(record.raw)
            if obj["metadata"].get("finalizers"):
                left = True
                if "deletionTimestamp" not in obj["metadata"]:
                    obj["metadata"]["deletionTimestamp"] = format_time(self._clock.now())
                    obj["metadata"]["deletionGracePeriodSeconds"] = 0
                    self._objects.put_stored(served, record, obj)
            else:
                self._objects.remove(served, record)
        return not left

    def _forget(self, crd: JsonObject) -> None:
        spec = crd["spec"]
        self._catalog.remove(spec["group"], spec["names"]["plural"])
        self._hub.close_resource(crd["metadata"]["name"])


def _deprecation(gvk: GroupVersionKind, version: JsonObject, versions: list[JsonObject]) -> str:
    """Return the warning about a deprecated version: its own text, or which version to use instead."""
    if not version.get("deprecated"):
        return ""
    if version.get("deprecationWarning"):
        return str(version["deprecationWarning"])
    good = [entry["name"] for entry in versions if entry["served"] and not entry.get("deprecated")]
    better = max(
        (name for name in good if version_rank(name) > version_rank(gvk.version)), key=version_rank, default=""
    )
    text = f"{gvk.api_version} {gvk.kind} is deprecated"
    return f"{text}; use {gvk.group}/{better} {gvk.kind}" if better else text
