"""A stand-in for srun of Slurm with PMIx, as its manual describes it: srun.py [--OPTION...] [-n RANKS] PROGRAM...

- Without -n there are as many ranks as the job has place for, SLURM_NTASKS.
- The ranks know their number from PMIX_RANK, and how many there are from SLURM_STEP_NUM_TASKS only.
- They are no children of srun: a daemon of each node starts them.
- srun forwards SIGUSR1 to them. At SIGTERM it kills them ("forcing job termination").
- Its exit code is the highest of the ranks.

The ranks are started by mpiexec, which TAILRACE_TEST_MPIEXEC names.
"""

import os
import signal
import subprocess
import sys

RANK = (
    'export PATH="$TAILRACE_TEST_PATH" SLURM_JOB_ID=7 SLURM_STEP_NUM_TASKS="$OMPI_COMM_WORLD_SIZE"; '
    'unset OMPI_COMM_WORLD_SIZE OMPI_COMM_WORLD_RANK OMPI_UNIVERSE_SIZE; exec "$@"'
)


def main(words: list[str]) -> int:
    """Start the ranks away from this process, and wait for them."""
    ranks = os.environ.get("SLURM_NTASKS", "1")
    while words[0].startswith("-"):
        if words[0] == "-n":
            ranks, words = words[1], words[1:]
        words = words[1:]
    reading, writing = os.pipe()
    if os.fork() == 0:  # the daemon: its parent ends, so that the ranks are not below srun
        if os.fork() != 0:
            os._exit(0)
        os.setsid()
        os.close(reading)
        command = [os.environ["TAILRACE_TEST_MPIEXEC"], "-n", ranks, "sh", "-c", RANK, "sh"]
        environment = {name: text for name, text in os.environ.items() if not name.startswith("SLURM_")}
        environment |= {"PATH": os.defpath, "TAILRACE_TEST_PATH": os.environ["PATH"]}
        with subprocess.Popen([*command, *words], process_group=0, env=environment) as started:
            os.write(writing, f"{started.pid}\n".encode())
            code = started.wait()
        os.write(writing, f"{code}\n".encode())
        os._exit(0)
    os.wait()
    os.close(writing)
    with os.fdopen(reading) as told:
        number = int(told.readline())
        signal.signal(signal.SIGUSR1, lambda *_: os.kill(number, signal.SIGUSR1))
        signal.signal(signal.SIGTERM, lambda *_: os.killpg(number, signal.SIGKILL))
        code = int(told.readline())
    return code if code >= 0 else 128 - code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
