"""What this process has open."""

import os


def descriptors() -> set[int]:
    """The numbers of what is open. A thread of the harness may close something at any time, so look for new ones only."""
    return {int(number) for number in os.listdir("/proc/self/fd")}
