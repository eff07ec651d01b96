"""Several nodes on one machine: namespaces of Linux with a network, hostname, PIDs and /dev/shm of their own.

A bridge joins the nodes; the network of the machine gets no interface. The file system is shared, as a parallel one is.
What this cannot show: caches of a network file system, clocks that differ, and speed.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from helpers.harness.program import Program
from tailrace.machine import MPI_FILES

TAILRACE = (sys.executable, "-m", "tailrace.cli")
HERE = Path(__file__).parent
NODES = ("n1", "n2", "n3")
HOSTS = {"head": "10.66.0.1", **{name: f"10.66.0.{10 + number}" for number, name in enumerate(NODES, 1)}}


class NoNamespacesError(RuntimeError):
    """This machine does not let us make namespaces."""


class Cluster:
    """A head, on which programs are started, and three nodes.

    :param folder: for the files that the scripts read.
    :param networks: each node also has two networks that lead nowhere, which come first.
    """

    def __init__(self, folder: Path, *, networks: bool = False) -> None:
        self._folder = folder
        self._holders: dict[str, subprocess.Popen[str]] = {}
        self.programs: list[Program] = []
        (folder / "hosts").write_text("127.0.0.1 localhost\n" + "".join(f"{a} {n}\n" for n, a in HOSTS.items()))
        try:
            for name in HOSTS:
                self._hold(name)
            self._connect(networks)
        except BaseException:
            self.end()
            raise

    def _hold(self, name: str) -> None:
        """Start the process whose namespaces are the host."""
        # From a namespace of PIDs there is no way into another beside it, so that the head has those of this machine.
        pids = [] if name == "head" else ["--pid", "--fork", "--kill-child", "--mount-proc"]
        mounts = f"mount -t tmpfs -o mode=1777 none /dev/shm && mount --bind {self._folder}/hosts /etc/hosts"
        process = subprocess.Popen(
            ["unshare", "--net", "--uts", "--ipc", "--mount", *pids, "sh", "-c",
             f"hostname {name} && {mounts} && ip link set lo up && echo ready && exec sleep infinity"],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            start_new_session=True,
        )  # fmt: skip
        self._holders[name] = process
        assert process.stdout
        said = process.stdout.readline()
        if said != "ready\n":
            raise NoNamespacesError(said.strip() or "unshare says nothing")
        inside = process.pid if name == "head" else self._child_of(process.pid)
        (self._folder / name).write_text(str(inside))

    @staticmethod
    def _child_of(process: int) -> int:
        return int(Path(f"/proc/{process}/task/{process}/children").read_text().split()[0])

    def _connect(self, networks: bool) -> None:
        self.on("head", "ip link add bridge type bridge && ip link set bridge up")
        self.on("head", f"ip addr add {HOSTS['head']}/24 dev bridge")
        for number, name in enumerate(NODES, 1):
            inside = (self._folder / name).read_text()
            for other, address in (("eth0", f"10.99.0.{number}/24"), ("docker0", "172.17.0.1/16")) if networks else ():
                self.on(
                    name, f"ip link add {other} type bridge; ip addr add {address} dev {other}; ip link set {other} up"
                )
            self.on("head", f"ip link add {name} type veth peer name fabric netns {inside} && "
                    f"ip link set {name} master bridge up")  # fmt: skip
            self.on(name, f"ip addr add {HOSTS[name]}/24 dev fabric && ip link set fabric up")

    def on(self, host: str, command: str) -> str:
        """Run a shell command on a host, and return what it printed."""
        done = subprocess.run(
            [HERE / "agent", host, command], env=self._environment(), capture_output=True, text=True, timeout=60,
            check=False,
        )  # fmt: skip
        if done.returncode:
            raise NoNamespacesError(f"{host}: {command}: {done.stdout}{done.stderr}".strip())
        return done.stdout

    def _environment(self) -> dict[str, str]:
        return {**os.environ, "TAILRACE_CLUSTER": str(self._folder)}

    def start(self, cwd: Path, hosts: str, *command: object, ranks: int | None = None, analysis: str = "") -> Program:
        """Start a program in a directory: on `ranks` ranks of the nodes `hosts`, n1:2,n2:2, or on the head alone.

        On the head, TAILRACE_MPIEXEC puts the ranks of a run on `hosts` and those of an analysis on `analysis`.
        """
        variables = {
            "TAILRACE_CLUSTER": self._folder, "TAILRACE_HOSTS": hosts, "TAILRACE_ANALYSIS_HOSTS": analysis,
            "TAILRACE_MPIEXEC": HERE / "mpiexec",
        }  # fmt: skip
        launcher = [HERE / "mpiexec", "-n", ranks] if ranks else []
        self.programs.append(
            Program(
                # Each node keeps files of MPI of its own: ranks of two nodes may have equal numbers.
                cwd, None, "env", "-u", MPI_FILES, *(f"{name}={value}" for name, value in variables.items()),
                "nsenter", "-t", (self._folder / "head").read_text(), "-n", "-u", "-i", "-m", "--",
                "sh", "-c", 'cd "$0" && exec "$@"', cwd, *launcher, *command,
            )
        )  # fmt: skip
        return self.programs[-1]

    def same_pids(self) -> None:
        """The next processes have equal numbers on all nodes."""
        for name in NODES:
            self.on(name, "echo 2000 > /proc/sys/kernel/ns_last_pid")

    def silence(self, name: str, *, silent: bool = True) -> None:
        """Cut the link of a node: its connections get neither an end nor an answer."""
        self.on("head", f"ip link set {name} {'down' if silent else 'up'}")

    def kill(self, name: str) -> None:
        """Kill all processes of a node, as when it loses its power, and start it again."""
        self.on(name, "kill -9 -1; true")

    def kill_all(self) -> None:
        """Kill what ended programs have left on the nodes.

        A daemon of Open MPI that has lost its mpiexec needs a moment to end. One that the next test had started on such
        a node was seen to end without a connection to its mpiexec, which then waits for ever.
        """
        for name in NODES:
            self.kill(name)

    def end(self) -> None:
        for one in self.programs:
            one.end()
        for process in self._holders.values():
            os.killpg(process.pid, signal.SIGKILL)
            process.wait(20)
            if process.stdout:
                process.stdout.close()


@contextlib.contextmanager
def cluster_of(folder: Path, *, networks: bool = False) -> Iterator[Cluster]:
    """Three nodes, while the block runs."""
    try:
        found = Cluster(folder, networks=networks)
    except (NoNamespacesError, OSError) as error:
        pytest.skip(f"no nodes can be made here: {error}")
    try:
        yield found
    finally:
        found.end()
