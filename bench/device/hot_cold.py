# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# The plan caches of PyTorch and CuPy at the same work as hot_cold.cpp, with the same JSON.
#
#   LD_PRELOAD=count_plans.so python3 hot_cold.py torch|cupy MAX_IDLE HOT COLD
#
# Transforms write into arrays of their own, as these libraries do; what they allocate for that is not counted, since the
# arrays are in their pools before the clock starts. Without the preloaded library builds are not counted (-1).
import ctypes
import json
import sys
import time

STEPS = 200
FIRST_LENGTH = 100000


def plans_made():
    try:
        return ctypes.CDLL(None).count_plans_so_far()
    except AttributeError:
        return None


class Torch:
    def __init__(self, max_idle):
        import torch

        self.torch = torch
        torch.backends.cuda.cufft_plan_cache[0].max_size = max_idle
        self.stream = torch.cuda.Stream()
        self.data = torch.zeros(FIRST_LENGTH + 5000, dtype=torch.complex64, device="cuda")

    def use(self, n):
        with self.torch.cuda.stream(self.stream):
            self.torch.fft.fft(self.data[:n])

    def forget(self):
        self.torch.backends.cuda.cufft_plan_cache[0].clear()

    def wait(self):
        self.torch.cuda.synchronize()

    def used(self):
        free, total = self.torch.cuda.mem_get_info()
        return total - free


class CuPy:
    def __init__(self, max_idle):
        import cupy

        self.cupy = cupy
        self.cache = cupy.fft.config.get_plan_cache()
        self.cache.set_size(max_idle)
        self.stream = cupy.cuda.Stream(non_blocking=True)
        self.data = cupy.zeros(FIRST_LENGTH + 5000, dtype=cupy.complex64)

    def use(self, n):
        with self.stream:
            self.cupy.fft.fft(self.data[:n])

    def forget(self):
        self.cache.clear()

    def wait(self):
        self.stream.synchronize()

    def used(self):
        free, total = self.cupy.cuda.runtime.memGetInfo()
        return total - free


def main():
    name, max_idle, hot, cold = sys.argv[1], *map(int, sys.argv[2:])
    peer = {"torch": Torch, "cupy": CuPy}[name](max_idle)
    for n in range(FIRST_LENGTH, FIRST_LENGTH + hot + cold * STEPS):
        peer.use(n)
    peer.wait()
    peer.forget()

    hot_builds = 0
    before = plans_made()
    memory = peer.used()
    peak = memory
    unseen = FIRST_LENGTH + hot
    start = time.perf_counter()
    for _ in range(STEPS):
        at = plans_made()
        for h in range(hot):
            peer.use(FIRST_LENGTH + h)
        if at is not None:
            hot_builds += plans_made() - at
        for _ in range(cold):
            peer.use(unseen)
            unseen += 1
        peak = max(peak, peer.used())
    peer.wait()
    wall = time.perf_counter() - start
    counted = before is not None
    print(
        json.dumps(
            {
                "cache": name,
                "max_idle": max_idle,
                "hot": hot,
                "cold": cold,
                "steps": STEPS,
                "builds": plans_made() - before if counted else -1,
                "hot_builds": hot_builds if counted else -1,
                "wall_ms": round(1000 * wall, 1),
                "grew_mib": round((peak - memory) / 2**20),
            }
        )
    )


main()
