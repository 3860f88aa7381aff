"""What the peers in Python share: to do their work n times and say how long it took."""

import sys
import time


def serve(work):
    for line in sys.stdin:
        n = int(line)
        start = time.perf_counter_ns()
        for _ in range(n):
            work()
        print(time.perf_counter_ns() - start, flush=True)
