"""Hashes of pod templates: equal templates have equal hashes, different ones almost always different. Pure."""

from steersman.kinds.core_v1 import PodTemplateSpec
from steersman.objects.codec import decode_json, encode_json
from steersman.randomness import SUFFIX_ALPHABET

_OFFSET, _PRIME, _MASK = 0x811C9DC5, 0x01000193, 0xFFFFFFFF


def template_hash(template: PodTemplateSpec, collisions: int | None = None) -> str:
    """Return the hash of a template; a number of ``collisions`` changes it."""
    number = _OFFSET
    for byte in canonical(template) + str(collisions or "").encode():
        number = ((number ^ byte) * _PRIME) & _MASK
    return safe_text(str(number))


def safe_text(text: str) -> str:
    """Write digits with letters that spell nothing, as generated names are written."""
    return "".join(SUFFIX_ALPHABET[ord(char) % len(SUFFIX_ALPHABET)] for char in text)


def canonical(template: PodTemplateSpec) -> bytes:
    """Return equal bytes for equivalent templates: absent, null and empty fields are left out."""
    return encode_json(_sorted(decode_json(encode_json(template))))


def _sorted(value: object) -> object:
    if isinstance(value, dict):
        members = ((name, _sorted(value[name])) for name in sorted(value))
        return {name: member for name, member in members if member not in (None, {}, [])}
    if isinstance(value, list):
        return [_sorted(item) for item in value]
    return value
