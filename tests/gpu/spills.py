"""Read what ptxas says of kernels (-Xptxas -v), tell those that keep values in memory; end with 1 if one does."""

from __future__ import annotations

import re
import sys

_KERNEL = re.compile(
    r"Compiling entry function '(\w+)' for '\w+'\n.*\n\s*(\d+) bytes stack frame, (\d+) bytes spill stores, "
    r"(\d+) bytes spill loads"
)
_LONGEST = re.compile(r"I?dLi33E")  # lines of more than 544 points, in double precision
_MOST = 96  # bytes that these may spill


def main(name: str, text: str) -> int:
    kernels = [(found[1], max(map(int, found.groups()[1:]))) for found in _KERNEL.finditer(text)]
    bad = [(kernel, size) for kernel, size in kernels if size > (_MOST if _LONGEST.search(kernel) else 0)]
    clean = sum(size == 0 for _, size in kernels)
    print(f"{name}: {len(kernels)} kernels, {clean} keep all of their values in registers")
    for kernel, size in bad:
        print(f"  {size} bytes in memory: {kernel}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.stdin.read()))
