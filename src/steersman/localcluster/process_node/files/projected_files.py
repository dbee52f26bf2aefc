"""The files of volumes whose content comes from the API: config maps, secrets, the pod itself, tokens. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from steersman.kinds.core_v1 import (
    ConfigMapProjection,
    Container,
    DownwardAPIProjection,
    DownwardAPIVolumeFile,
    KeyToPath,
    Pod,
    ProjectedVolumeSource,
    SecretProjection,
    Volume,
    VolumeProjection,
)
from steersman.localcluster.process_node.containers.downward import NodeFacts, field_value, resource_value
from steersman.localcluster.process_node.containers.environment import Sources
from steersman.localcluster.process_node.containers.problem import MountError

_MODE = 0o644
_ROOT_CERTIFICATE = "kube-root-ca.crt"


@dataclass(frozen=True, slots=True)
class File:
    """One file of a volume."""

    content: bytes = field(repr=False)
    mode: int = _MODE
    #: Whether it may contain paths of the container, so that those below mounts are replaced.
    is_text: bool = False


def is_projected(volume: Volume) -> bool:
    """Return whether a volume's content comes from the API."""
    return any(part is not None for part in (volume.config_map, volume.secret, volume.downward_api, volume.projected))


def projected_files(volume: Volume, pod: Pod, sources: Sources, facts: NodeFacts) -> dict[str, File]:
    """Return path → file of a volume. Tokens of service accounts are not among them: see `token_requests`."""
    projected = volume.projected or ProjectedVolumeSource(sources=[_as_projection(volume)], default_mode=_mode(volume))
    files: dict[str, File] = {}
    mode = _MODE if projected.default_mode is None else projected.default_mode
    for part in projected.sources or ():
        files.update(_files(part, pod, sources, facts, mode))
    for path in files:
        check_path(path)
    return files


@dataclass(frozen=True, slots=True)
class ProjectedToken:
    """A token that a volume wants."""

    path: str
    audience: str
    seconds: int


def tokens_wanted(volume: Volume) -> list[ProjectedToken]:
    """Return the tokens that a volume wants of the pod's service account."""
    wanted = []
    for part in (volume.projected.sources if volume.projected else None) or ():
        if (token := part.service_account_token) is not None:
            check_path(token.path)
            wanted.append(ProjectedToken(token.path, token.audience or "", token.expiration_seconds or 3600))
    return wanted


def check_path(path: str) -> None:
    """Reject a path that leads out of its volume."""
    parts = path.split("/")
    if not path or path.startswith("/") or any(part in ("", ".", "..") for part in parts) or "\0" in path:
        raise MountError(f"{path!r} is not a path inside a volume")


def _mode(volume: Volume) -> int | None:
    for part in (volume.config_map, volume.secret, volume.downward_api):
        if part is not None:
            return part.default_mode
    return None


def _as_projection(volume: Volume) -> VolumeProjection:
    """Return a volume of one source as a part of a projected one, which has the same meaning."""
    if (config_map := volume.config_map) is not None:
        part = ConfigMapProjection(name=config_map.name, items=config_map.items, optional=config_map.optional)
        return VolumeProjection(config_map=part)
    if (secret := volume.secret) is not None:
        return VolumeProjection(
            secret=SecretProjection(name=secret.secret_name, items=secret.items, optional=secret.optional)
        )
    items = volume.downward_api.items if volume.downward_api is not None else None
    return VolumeProjection(downward_api=DownwardAPIProjection(items=items))


def _files(
    part: VolumeProjection, pod: Pod, sources: Sources, facts: NodeFacts, mode: int
) -> Iterator[tuple[str, File]]:
    if (config_map := part.config_map) is not None:
        found = sources.config_map(pod.namespace, config_map.name or "")
        # A server without a port has no authority, so it publishes no certificate.
        if found is None and not config_map.optional and config_map.name != _ROOT_CERTIFICATE:
            raise MountError(f'configmap "{config_map.name}" not found')
        texts = {key: value.encode() for key, value in ((found.data if found else None) or {}).items()}
        content = {**texts, **((found.binary_data if found else None) or {})}
        yield from _selected(content, config_map.items, mode, texts=texts, what=f"configmap {config_map.name}")
    if (secret := part.secret) is not None:
        kept = sources.secret(pod.namespace, secret.name or "")
        if kept is None and not secret.optional:
            raise MountError(f'secret "{secret.name}" not found')
        secrets = (kept.data if kept else None) or {}
        yield from _selected(secrets, secret.items, mode, texts={}, what=f"secret {secret.name}")
    if part.downward_api is not None:
        for item in part.downward_api.items or ():
            yield item.path, File(_downward(item, pod, facts).encode(), item.mode or mode)
    if part.cluster_trust_bundle is not None or part.pod_certificate is not None:
        raise MountError("a process node provides no trust bundles and no pod certificates")


def _selected(
    content: Mapping[str, bytes],
    items: Sequence[KeyToPath] | None,
    mode: int,
    *,
    texts: Mapping[str, bytes],
    what: str,
) -> Iterator[tuple[str, File]]:
    if items is None:
        for key, value in content.items():
            yield key, File(value, mode, is_text=key in texts)
        return
    for item in items:
        if item.key not in content:
            if content:
                raise MountError(f"{what} references non-existent config key: {item.key}")
            continue
        yield item.path, File(content[item.key], mode if item.mode is None else item.mode, is_text=item.key in texts)


def _downward(item: DownwardAPIVolumeFile, pod: Pod, facts: NodeFacts) -> str:
    if item.field_ref is not None:
        return field_value(item.field_ref.field_path, pod, facts)
    if item.resource_field_ref is None:
        return ""
    named = item.resource_field_ref.container_name
    every: list[Container] = [*(pod.spec.init_containers or ()), *pod.spec.containers]
    target = next((container for container in every if container.name == named), pod.spec.containers[0])
    return resource_value(item.resource_field_ref, target, facts)
