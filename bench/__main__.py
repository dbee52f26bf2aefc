"""`make bench`: run every benchmark, or those named on the command line, one after the other.

Each benchmark measures Steersman and its peers in the same run and prints ratios: machines are noisy, ratios less so.
"""

import sys
from importlib import import_module
from pathlib import Path

#: Benchmarks that take many minutes, and run only when named.
_LONG = {"growth", "shards", "shards_real", "soak", "two_replicas"}
#: Modules that are not benchmarks.
_PARTS = {"scripted", "sharded_widgets", "ten_writes", "widgets"}


def main() -> None:
    """Run the benchmarks named as arguments; without arguments, all that end by themselves within minutes."""
    known = sorted({path.stem for path in Path(__file__).parent.glob("[a-z]*.py")} - _PARTS)
    wanted = sys.argv[1:] or [name for name in known if name not in _LONG]
    for name in wanted:
        if name not in known:
            sys.exit(f"no benchmark named {name!r}; there are: {', '.join(known)}")
        print(f"\n== {name}", flush=True)
        import_module(f"bench.{name}").main()


if __name__ == "__main__":
    main()
