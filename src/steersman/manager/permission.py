"""`Permission`: verbs on a kind, as an author declares them."""

from dataclasses import dataclass

from steersman.errors import DeclarationError
from steersman.objects.resource import KubeObject


@dataclass(frozen=True, slots=True)
class Permission:
    """Verbs on a kind, or on a subresource such as ``status`` or ``log``."""

    kind: type[KubeObject]
    verbs: tuple[str, ...]
    subresource: str = ""

    def __post_init__(self) -> None:
        if not self.verbs or "*" in self.verbs or "*" in self.subresource:
            raise DeclarationError(f"{self} needs verbs without wildcards, such as 'get'")

    def __str__(self) -> str:
        return line(self.kind.__name__, self.verbs, self.subresource)


def line(kind: str, verbs: tuple[str, ...], subresource: str = "", *, call: str = "permit") -> str:
    """Return the code that declares a permission: ``permit(Pod, "get", subresource="log")``."""
    words = [kind, *(f'"{verb}"' for verb in verbs)]
    if subresource:
        words.append(f'subresource="{subresource}"')
    return f"{call}({', '.join(words)})"
