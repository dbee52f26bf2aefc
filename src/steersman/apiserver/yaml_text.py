"""YAML in and out, as Go's library reads and writes it: YAML 1.1, JSON types only.

Imported when a request or an answer is YAML; JSON needs none of it.
"""

import re
from typing import Any

import yaml

#: Aliases can make a small text a huge document; no honest object has this many parts.
_NODE_LIMIT = 500_000
#: Levels of nesting. The C library composes documents by recursion: what is deeper than its stack ends the process.
_DEPTH_LIMIT = 1_000
_LOADER: type[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class YamlFault(Exception):  # noqa: N818 - it is told to the client, not a bug
    """The text is not YAML that can be an object; the message is for the client."""


class _Loader(_LOADER):  # type: ignore[misc]  # the C loader has no type stubs
    """Resolves scalars as Go does: ``y`` is true, times stay text; notes keys that are set twice."""

    def __init__(self, stream: Any) -> None:
        super().__init__(stream)
        self.duplicates: list[str] = []

    def construct_mapping(self, node: Any, deep: bool = False) -> Any:
        """Make a dict with text keys and note duplicates."""
        self.flatten_mapping(node)
        result: dict[str, Any] = {}
        for key_node, value_node in node.value:
            key = _key_text(self.construct_object(key_node, deep=True))
            if key in result:
                self.duplicates.append(f'line {key_node.start_mark.line + 1}: key "{key}" already set in map')
            result[key] = self.construct_object(value_node, deep=deep)
        return result


def _key_text(key: Any) -> str:
    if isinstance(key, str):
        return key
    if isinstance(key, bool):
        return "true" if key else "false"
    if isinstance(key, (int, float)):
        return str(key)
    raise YamlFault("json: unsupported type: map[interface {}]interface {}")


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in _LOADER.yaml_implicit_resolvers.items()
}
_YES_NO = re.compile(r"(?:y|Y|n|N)\Z")
for _first in "yYnN":
    _Loader.yaml_implicit_resolvers.setdefault(_first, []).append(("tag:yaml.org,2002:bool", _YES_NO))
_Loader.bool_values = {**_LOADER.bool_values, "y": True, "n": False}


def _whole_mapping(loader: _Loader, node: Any) -> Any:
    return loader.construct_mapping(node, deep=True)


_Loader.add_constructor("tag:yaml.org,2002:map", _whole_mapping)


def _bounded(value: Any) -> None:
    pending, seen = [value], 0
    while pending:
        part = pending.pop()
        seen += 1
        if seen > _NODE_LIMIT:
            raise YamlFault("yaml: document contains excessive aliasing")
        if isinstance(part, dict):
            pending.extend(part.values())
        elif isinstance(part, list):
            pending.extend(part)


def _check_depth(data: bytes) -> None:
    """Refuse a first document that nests too deeply, from the parser's events, which need no recursion."""
    depth = 0
    for event in yaml.parse(data, Loader=_LOADER):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > _DEPTH_LIMIT:
                raise YamlFault(f"yaml: exceeded max depth of {_DEPTH_LIMIT}")
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        elif isinstance(event, yaml.DocumentEndEvent):
            return


def parse_yaml(data: bytes) -> tuple[Any, list[str]]:
    """Read the first document; also give a complaint for every key that is set twice."""
    try:
        loader = _Loader(data)
    except (yaml.YAMLError, ValueError) as error:
        raise YamlFault(f"yaml: {_first_line(error)}") from None
    try:
        _check_depth(data)
        value = loader.get_data() if loader.check_data() else None
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line if error.problem_mark else 0
        place = f"line {line}: " if line else ""
        raise YamlFault(f"yaml: {place}{error.problem or error.context}") from None
    except (yaml.YAMLError, ValueError, RecursionError, TypeError) as error:
        raise YamlFault(f"yaml: {_first_line(error)}") from None
    finally:
        loader.dispose()
    _bounded(value)
    return value, loader.duplicates


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0] if str(error) else "cannot be read"


def write_yaml(value: Any) -> bytes:
    """Write a document with sorted keys."""
    dumper: type[Any] = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    text: str = yaml.dump(value, Dumper=dumper, default_flow_style=False, allow_unicode=True)
    return text.encode()
