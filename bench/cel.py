"""Time to check a validation rule, compared with Google's CEL in C++: typical rules of custom resources."""

from collections.abc import Callable
from time import perf_counter
from typing import Any, NamedTuple

from cel_expr_python import cel

from steersman.cel import Budget
from steersman.structural.cel_rules import CompiledRules, compile_rules

_ROUNDS = 7
_SECONDS_A_ROUND = 0.03

_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "replicas": {"type": "integer"},
        "maximum": {"type": "integer"},
        "name": {"type": "string", "maxLength": 63},
        "mode": {"type": "string", "enum": ["active", "standby"]},
        "memory": {"type": "string", "maxLength": 20},
        "image": {"type": "string"},
        "ports": {
            "type": "array",
            "maxItems": 16,
            "items": {
                "type": "object",
                "properties": {"port": {"type": "integer"}, "name": {"type": "string", "maxLength": 15}},
            },
        },
        "labels": {"type": "object", "maxProperties": 16, "additionalProperties": {"type": "string", "maxLength": 63}},
    },
}
_VALUE: dict[str, Any] = {
    "replicas": 3,
    "maximum": 5,
    "name": "web-frontend",
    "mode": "active",
    "memory": "512Mi",
    "image": "registry.example.com/shop/web:1.27.3",
    "ports": [{"port": 8080 + number, "name": f"port-{number}"} for number in range(8)],
    "labels": {"app": "web", "tier": "front", "team": "shop"},
}

#: Each rule, and whether plain CEL can evaluate it, too: it lacks the libraries of Kubernetes.
_RULES: list[tuple[str, bool]] = [
    ("self.replicas <= self.maximum", True),
    ("!has(self.mode) || self.mode in ['active', 'standby']", True),
    ("self.name.startsWith('web') && self.name.size() < 64", True),
    ("self.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')", True),
    ("self.ports.all(p, p.port > 0 && p.port < 65536)", True),
    ("self.ports.all(p, self.ports.exists_one(q, p.name == q.name))", True),
    ("self.labels.all(k, self.labels[k] != '')", True),
    ("self == oldSelf", False),
    ("quantity(self.memory).isLessThan(quantity('1Gi'))", False),
    ("self.?replicas.orValue(1) > 0", False),
    ("self.image.contains(':') ? !self.image.endsWith(':latest') : false", True),
]


class _Row(NamedTuple):
    rule: str
    ours: float
    metered: float
    theirs: float | None


def _microseconds(work: Callable[[], object]) -> float:
    """Return the lowest mean of several rounds, which is the least disturbed one."""
    work()
    times = []
    for _ in range(_ROUNDS):
        count, start = 0, perf_counter()
        while (passed := perf_counter() - start) < _SECONDS_A_ROUND:
            work()
            count += 1
        times.append(passed / count)
    return min(times) * 1e6


def _compiled(rule: str) -> CompiledRules:
    compiled = compile_rules({**_SCHEMA, "x-kubernetes-validations": [{"rule": rule}]})
    assert not compiled.errors, compiled.errors
    return compiled


def _measure(rule: str, *, everywhere: bool) -> _Row:
    compiled = _compiled(rule)
    (one,) = compiled.rules

    def ours() -> object:
        return compiled.check(_VALUE, _VALUE, budget=Budget())

    assert ours() == [], rule
    metered = _microseconds(lambda: one.program.evaluate(*one.values(_VALUE, _VALUE)))
    theirs = None
    if everywhere:
        program = cel.NewEnv(variables={"self": cel.Type.DYN}).compile(rule)
        data = {"self": _VALUE}
        assert program.eval(data=data).plain_value() is True, rule
        theirs = _microseconds(lambda: program.eval(data=data))
    return _Row(rule, _microseconds(ours), metered, theirs)


def _compile_times() -> None:
    rules = [rule for rule, everywhere in _RULES if everywhere]
    env = cel.NewEnv(variables={"self": cel.Type.DYN})
    ours = _microseconds(lambda: [_compiled(rule) for rule in rules]) / len(rules)
    theirs = _microseconds(lambda: [env.compile(rule) for rule in rules]) / len(rules)
    print(f"\ncompiling a rule: {ours:.0f} µs with types and cost estimate; C++ {theirs:.0f} µs")


def main() -> None:
    """Print the microseconds of one check, and the ratio to C++ called from Python."""
    print(f"{'check µs':>9} {'metered µs':>11} {'C++ µs':>8} {'ratio':>7}  rule")
    for rule, everywhere in _RULES:
        row = _measure(rule, everywhere=everywhere)
        theirs = f"{row.theirs:8.2f} {row.theirs / row.ours:6.1f}x" if row.theirs is not None else f"{'-':>8} {'-':>7}"
        print(f"{row.ours:9.2f} {row.metered:11.2f} {theirs}  {row.rule}")
    _compile_times()


if __name__ == "__main__":
    main()
