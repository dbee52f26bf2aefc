"""The variables of a container: from config maps, secrets, the pod itself, and each other. Pure."""

from collections.abc import Iterator
from typing import Protocol

from steersman.kinds.core_v1 import ConfigMap, Container, EnvFromSource, EnvVar, EnvVarSource, Pod, Secret
from steersman.localcluster.process_node.containers.downward import NodeFacts, field_value, resource_value
from steersman.localcluster.process_node.containers.expansion import expand
from steersman.localcluster.process_node.containers.problem import SourceError


class Sources(Protocol):
    """Where config maps and secrets are looked up."""

    def config_map(self, namespace: str, name: str) -> ConfigMap | None:
        """Return a config map, if there is one."""

    def secret(self, namespace: str, name: str) -> Secret | None:
        """Return a secret, if there is one."""


def environment(pod: Pod, container: Container, sources: Sources, facts: NodeFacts) -> dict[str, str]:
    """Return the variables that a container declares, in order; a later one wins and may refer to earlier ones."""
    variables: dict[str, str] = {}
    for source in container.env_from or ():
        prefix = source.prefix or ""
        variables |= {prefix + name: value for name, value in _all_of(source, pod.namespace, sources)}
    for variable in container.env or ():
        value = _value(variable, pod, container, sources, facts, variables)
        if value is not None:
            variables[variable.name] = value
    return variables


def _all_of(source: EnvFromSource, namespace: str, sources: Sources) -> Iterator[tuple[str, str]]:
    if source.config_map_ref is not None:
        name = source.config_map_ref.name or ""
        config_map = sources.config_map(namespace, name)
        if config_map is None and not source.config_map_ref.optional:
            raise SourceError(f'configmap "{name}" not found')
        yield from ((config_map.data if config_map else None) or {}).items()
    if source.secret_ref is not None:
        name = source.secret_ref.name or ""
        secret = sources.secret(namespace, name)
        if secret is None and not source.secret_ref.optional:
            raise SourceError(f'secret "{name}" not found')
        for key, value in ((secret.data if secret else None) or {}).items():
            yield key, _text(value, f"key {key} of secret {name}")


def _value(
    variable: EnvVar,
    pod: Pod,
    container: Container,
    sources: Sources,
    facts: NodeFacts,
    before: dict[str, str],
) -> str | None:
    """Return a variable's value; ``None`` for one whose source is optional and missing."""
    source = variable.value_from
    if source is None:
        return expand(variable.value or "", before)
    if source.field_ref is not None:
        return field_value(source.field_ref.field_path, pod, facts)
    if source.resource_field_ref is not None:
        named = source.resource_field_ref.container_name
        every = [*(pod.spec.init_containers or ()), *pod.spec.containers]
        target = next((item for item in every if item.name == named), container)
        return resource_value(source.resource_field_ref, target, facts)
    return _keyed(variable.name, source, pod.namespace, sources)


def _keyed(variable: str, source: EnvVarSource, namespace: str, sources: Sources) -> str | None:
    if (reference := source.config_map_key_ref) is not None:
        name, kind = reference.name or "", "ConfigMap"
        config_map = sources.config_map(namespace, name)
        found = None if config_map is None else (config_map.data or {}).get(reference.key)
        is_there, key, is_optional = config_map is not None, reference.key, reference.optional
    elif (wanted := source.secret_key_ref) is not None:
        name, kind = wanted.name or "", "Secret"
        secret = sources.secret(namespace, name)
        raw = None if secret is None else (secret.data or {}).get(wanted.key)
        found = None if raw is None else _text(raw, f"key {wanted.key} of secret {name}")
        is_there, key, is_optional = secret is not None, wanted.key, wanted.optional
    else:
        raise SourceError(f"variable {variable} has a source that a process node does not support")
    if found is None and not is_optional:
        if not is_there:
            raise SourceError(f'{kind.lower()} "{name}" not found')
        raise SourceError(f"couldn't find key {key} in {kind} {namespace}/{name}")
    return found


def _text(value: bytes, what: str) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        raise SourceError(f"{what} is not text and cannot be a variable: mount it as a file") from None
