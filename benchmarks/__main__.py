"""The command line of the benchmarks."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from benchmarks.registry import NAMES, load, refusal

DATA = Path(__file__).resolve().parents[2] / "shared" / "workloads"


def main() -> int:
    """List the benchmarks, or run one."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("name", choices=("list", "all", *NAMES), help="which one; `all` runs one after the other")
    parser.add_argument("--json", action="store_true", help="write one JSON document")
    parser.add_argument("--data", type=Path, default=DATA, help="folder with the workloads [%(default)s]")
    parser.add_argument("--only", action="append", help="only this part of a benchmark; may be repeated")
    parser.add_argument("--sample", type=int, default=500, help="mutants: so many faults are tried [%(default)s]")
    parser.add_argument("--seed", type=int, default=1, help="mutants: which sample it is [%(default)s]")
    args = parser.parse_args()
    if args.name == "list":
        for name in NAMES:
            print(f"{name:14}{load(name).TITLE}")
        return 0
    wrong = refusal(args.name, args.only or ())
    if wrong is not None:
        parser.error(wrong)
    if not args.data.is_dir():
        parser.error(f"there is no folder {args.data}: name the workloads with --data DIR")
    names = NAMES if args.name == "all" else (args.name,)
    documents = {}
    for name in names:
        benchmark = load(name)
        found = documents[name] = benchmark.run(args)
        if args.json:
            continue
        if len(names) > 1:
            print(f"\n{name}: {benchmark.TITLE}", flush=True)
        for key, value in found.items():
            if isinstance(value, list):
                _print_table(value, benchmark.KEYS[key])
            else:
                print(f"{key:44} {_shown(value):>16}  {benchmark.KEYS.get(key, '')}")
    if args.json:
        json.dump(documents if len(names) > 1 else documents[names[0]], sys.stdout, indent=2)
        print()
    return 0


def _print_table(rows: list[dict[str, str]], meaning: str) -> None:
    print(meaning)
    lines = [list(rows[0]), *([row[name] for name in rows[0]] for row in rows)] if rows else []
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        print("  ".join(f"{cell:>{width}}" for cell, width in zip(line, widths, strict=True)))


def _shown(value: object) -> str:
    if not isinstance(value, float):
        return str(value)
    return f"{value:,.2f}" if abs(value) >= 1 else f"{value:.3g}"


if __name__ == "__main__":
    sys.exit(main())
