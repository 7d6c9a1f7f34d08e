"""Run every benchmark in one process tree and print one JSON document: `python -m tests.bench [NAME ...]`."""

from __future__ import annotations

import importlib
import json
import platform
import sys
from pathlib import Path


def main(names: list[str]) -> int:
    """Run the named benchmarks (all without names), progress on standard error."""
    found = sorted(path.stem for path in Path(__file__).parent.glob("bench_*.py"))
    chosen = [name for name in found if not names or name.removeprefix("bench_") in names]
    unknown = sorted(set(names) - {name.removeprefix("bench_") for name in found})
    if unknown:
        sys.stderr.write(f"no benchmark {unknown}; there are {[n.removeprefix('bench_') for n in found]}\n")
        return 2
    figures: dict[str, object] = {"python": platform.python_version(), "machine": platform.machine()}
    for name in chosen:
        sys.stderr.write(f"[bench] {name.removeprefix('bench_')}\n")
        figures[name.removeprefix("bench_")] = importlib.import_module(f"tests.bench.{name}").run()
    sys.stdout.write(json.dumps(figures, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
