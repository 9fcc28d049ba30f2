# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# The lines of hot_cold.cpp and hot_cold.py as one Markdown table.
import json
import sys

with open(sys.argv[1], encoding="utf-8") as lines:
    runs = [json.loads(line) for line in lines]

print("| hot, cold | max idle | cache | plans made | of hot lengths | wall time | ratio | memory grew by |")
print("|---|--:|---|--:|--:|--:|--:|--:|")
for run in runs:
    same = [r for r in runs if all(r[k] == run[k] for k in ("hot", "cold", "max_idle"))]
    larder = next(r["wall_ms"] for r in same if r["cache"] == "larder")
    count = {name: "not counted" if run[name] < 0 else run[name] for name in ("builds", "hot_builds")}
    print(
        f"| {run['hot']}, {run['cold']} | {run['max_idle']} | {run['cache']} | {count['builds']} | {count['hot_builds']} "
        f"| {run['wall_ms']:.0f} ms | {run['wall_ms'] / larder:.2f} | {run['grew_mib']} MiB |"
    )
