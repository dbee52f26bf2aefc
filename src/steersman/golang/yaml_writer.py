"""Write values of JSON as YAML: no aliases, no tags, and quotes around strings that a reader takes for something else.

Texts are what ``kubectl get -o yaml`` prints, which is what Go's YAML library writes.
"""

from collections.abc import Iterable
from functools import cmp_to_key
from typing import Any, Final

import yaml

from steersman.golang.numbers import go_float
from steersman.golang.yaml_scalars import STR_TAG, is_plain_string

_SafeDumper: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
#: Where Go folds lines; manifests, which people read, are wider.
_GO_WIDTH: Final = 80
_WIDTH: Final = 120
#: What libyaml writes after a text that ends in empty lines, unlike Go.
_END: Final = "\n...\n"


class _Dumper(_SafeDumper):  # type: ignore[misc] # chosen at run time: the C dumper where it is built
    """Writes every scalar as a string whose style was chosen already, so that PyYAML's own rules are not asked."""

    yaml_implicit_resolvers: dict[Any, Any] = {}

    def ignore_aliases(self, data: Any) -> bool:
        """Return True: aliases are hard to read and to patch, so none is written."""
        del data
        return True


def _represent_text(dumper: Any, text: str) -> Any:
    style = "|" if "\n" in text else None if is_plain_string(text) else '"'
    return dumper.represent_scalar(STR_TAG, text, style=style)


def _represent_float(dumper: Any, number: float) -> Any:
    return dumper.represent_scalar(STR_TAG, go_float(number))


_Dumper.add_representer(str, _represent_text)
_Dumper.add_representer(float, _represent_float)
_Dumper.add_representer(int, lambda dumper, number: dumper.represent_scalar(STR_TAG, str(number)))
_Dumper.add_representer(bool, lambda dumper, truth: dumper.represent_scalar(STR_TAG, "true" if truth else "false"))
_Dumper.add_representer(type(None), lambda dumper, _: dumper.represent_scalar(STR_TAG, "null"))


def write_yaml(documents: Iterable[Any], *, width: int = _WIDTH) -> str:
    """Write documents with their keys in the order in which they are."""
    values = list(documents)
    return str(
        yaml.dump_all(
            values,
            Dumper=_Dumper,
            default_flow_style=False,
            sort_keys=False,
            allow_unicode=True,
            explicit_start=len(values) > 1,
            width=width,
        )
    )


def write_sorted_yaml(value: Any) -> str:
    """Write one document with its keys in Go's order, in which ``a9`` comes before ``a10``."""
    text = write_yaml([_sorted(value)], width=_GO_WIDTH)
    return f"{text.removesuffix(_END)}\n" if text.endswith(_END) else text


def _sorted(value: Any) -> Any:
    if value.__class__ is dict:
        keys = sorted(value) if all(map(str.isalpha, value)) else sorted(value, key=cmp_to_key(_compare))
        return {key: _sorted(value[key]) for key in keys}
    if value.__class__ is list:
        return [_sorted(item) for item in value]
    return value


def _compare(one: str, other: str) -> int:
    """Compare two different keys: letters come last, and digits count as numbers."""
    shared = next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), None)
    if shared is None:
        return len(one) - len(other)
    a, b = one[shared], other[shared]
    if a.isalpha() and b.isalpha():
        return -1 if a < b else 1
    if a.isalpha() or b.isalpha():
        return -1 if b.isalpha() else 1
    one_number, other_number = (_number_at(key, shared, is_zero="0" in (a, b)) for key in (one, other))
    if one_number != other_number:
        return -1 if one_number < other_number else 1
    return -1 if a < b else 1


def _number_at(key: str, start: int, *, is_zero: bool) -> tuple[int, int]:
    """Return the number at a position of a key, and where it ends; leading zeros count for little."""
    end = start
    while end < len(key) and key[end].isdecimal():
        end += 1
    before = key[:start]
    is_inside = is_zero and before[len(before.rstrip("0123456789")) :].strip("0") != ""
    return int(("1" if is_inside else "0") + key[start:end][:18]), end
