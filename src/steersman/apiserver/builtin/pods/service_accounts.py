"""The ServiceAccount of a pod: its default, its pull secrets, and the volume with its token.

This is an admission plugin in Kubernetes. It runs before mutating webhooks, and again if they changed the pod, so that
a container that a webhook added gets the token, too. Every step is therefore idempotent.
"""

import zlib
from collections.abc import Iterator

from steersman.apiserver.resources.object_store import ObjectStore
from steersman.apiserver.status import Refusal, forbidden
from steersman.json_types import JsonObject
from steersman.objects.codec import decode_json
from steersman.randomness import SUFFIX_ALPHABET

_DEFAULT = "default"
_MIRROR = "kubernetes.io/config.mirror"
_ENFORCED = "kubernetes.io/enforce-mountable-secrets"
_TRUE = frozenset({"1", "t", "T", "TRUE", "true", "True"})
_VOLUME = "kube-api-access-"
_PATH = "/var/run/secrets/kubernetes.io/serviceaccount"
#: An hour, and seven seconds by which a server recognises tokens that it mounted itself.
_SECONDS = 3607
_MODE = 0o644


def use_service_account(objects: ObjectStore, obj: JsonObject) -> None:
    """Set the service account of a new pod, its pull secrets and its token volume; reject an unknown account."""
    spec, metadata = obj["spec"], obj["metadata"]
    if _MIRROR in (metadata.get("annotations") or {}):
        _check_mirror(obj)
        return
    name = spec.get("serviceAccountName") or _DEFAULT
    spec["serviceAccountName"] = spec["serviceAccount"] = name
    namespace = metadata.get("namespace", "")
    record = objects.store.get("serviceaccounts", namespace, name)
    if record is None and name != _DEFAULT:
        why = f'error looking up service account {namespace}/{name}: serviceaccount "{name}" not found'
        raise _forbidden(obj, why)
    # The default account of a namespace is about to be created; a kube-apiserver waits for that.
    account: JsonObject = {"metadata": {}} if record is None else decode_json(record.raw)
    if _automounts(account, spec):
        _mount_token(obj)
    if not spec.get("imagePullSecrets") and (secrets := account.get("imagePullSecrets")):
        spec["imagePullSecrets"] = [{"name": secret.get("name", "")} for secret in secrets]
    if ((account["metadata"].get("annotations") or {}).get(_ENFORCED) or "") in _TRUE:
        _check_secrets(obj, account)


def _forbidden(obj: JsonObject, why: str) -> Refusal:
    return forbidden("pods", "", obj["metadata"].get("name") or "Unknown", why)


def _check_mirror(obj: JsonObject) -> None:
    spec = obj["spec"]
    if spec.get("serviceAccountName"):
        raise _forbidden(obj, "a mirror pod may not reference service accounts")
    for volume in spec.get("volumes") or ():
        if volume.get("secret"):
            raise _forbidden(obj, "a mirror pod may not reference secrets")
        sources = (volume.get("projected") or {}).get("sources") or ()
        if any(source.get("serviceAccountToken") for source in sources):
            raise _forbidden(obj, "a mirror pod may not use ServiceAccountToken volume projections")


def _automounts(account: JsonObject, spec: JsonObject) -> bool:
    for chosen in (spec, account):
        if (wanted := chosen.get("automountServiceAccountToken")) is not None:
            return bool(wanted)
    return True


def _mount_token(obj: JsonObject) -> None:
    """Mount the token into every container that has nothing else there; add the volume if one needs it."""
    spec = obj["spec"]
    volumes = spec.get("volumes") or []
    known = next((volume["name"] for volume in volumes if str(volume.get("name", "")).startswith(_VOLUME)), "")
    name = known or _VOLUME + _suffix(obj["metadata"])
    is_needed = False
    for kind in ("initContainers", "containers"):
        for container in spec.get(kind) or ():
            mounts = container.get("volumeMounts") or []
            if all(mount.get("mountPath") != _PATH for mount in mounts):
                container["volumeMounts"] = [*mounts, {"name": name, "readOnly": True, "mountPath": _PATH}]
                is_needed = True
    if is_needed and not known:
        spec["volumes"] = [*volumes, {"name": name, "projected": _token_volume()}]


def _suffix(metadata: JsonObject) -> str:
    """Return the end of the volume's name.

    It is random in Kubernetes. Here it follows from the pod's name, so that a pod that is created again is equal to
    the one before, whatever else consumed randomness.
    """
    name = metadata.get("name") or metadata.get("generateName") or ""
    number = zlib.crc32(f"{metadata.get('namespace', '')}/{name}".encode())
    letters = []
    for _ in range(5):
        number, index = divmod(number, len(SUFFIX_ALPHABET))
        letters.append(SUFFIX_ALPHABET[index])
    return "".join(letters)


def _token_volume() -> JsonObject:
    namespace = {"path": "namespace", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}}
    return {
        "sources": [
            {"serviceAccountToken": {"expirationSeconds": _SECONDS, "path": "token"}},
            {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
            {"downwardAPI": {"items": [namespace]}},
        ],
        "defaultMode": _MODE,
    }


def _check_secrets(obj: JsonObject, account: JsonObject) -> None:
    """Reject references to secrets that an account with enforced secrets does not list."""
    name = account["metadata"]["name"]
    mountable = {secret.get("name") for secret in account.get("secrets") or ()}
    for secret, where in _secret_references(obj["spec"]):
        if secret not in mountable:
            why = f"is not allowed because service account {name} does not reference that secret"
            raise _forbidden(obj, f"{where}{why}")
    pulled = {secret.get("name") for secret in account.get("imagePullSecrets") or ()}
    for index, secret in enumerate(obj["spec"].get("imagePullSecrets") or ()):
        if secret.get("name") not in pulled:
            what = f'imagePullSecrets[{index}].name="{secret.get("name", "")}"'
            why = f"is not allowed because service account {name} does not reference that imagePullSecret"
            raise _forbidden(obj, f"{what} {why}")


def _secret_references(spec: JsonObject) -> Iterator[tuple[str, str]]:
    """Yield the Secrets that volumes and variables refer to, each with the beginning of the message about it."""
    for volume in spec.get("volumes") or ():
        if (source := volume.get("secret")) is not None:
            secret = source.get("secretName", "")
            yield secret, f'volume with secret.secretName="{secret}" '
    for kind, what in (("initContainers", "init container"), ("containers", "container")):
        for container in spec.get(kind) or ():
            for secret, where in _container_references(container):
                named = f'{what} {container.get("name", "")} with {where} referencing secret.secretName="{secret}" '
                yield secret, named


def _container_references(container: JsonObject) -> Iterator[tuple[str, str]]:
    """Yield the Secrets that the variables of a container refer to, each with the place of the reference."""
    for variable in container.get("env") or ():
        if (reference := (variable.get("valueFrom") or {}).get("secretKeyRef")) is not None:
            yield reference.get("name", ""), f"envVar {variable.get('name')}"
    for source in container.get("envFrom") or ():
        if (reference := source.get("secretRef")) is not None:
            yield reference.get("name", ""), "envFrom"
