"""A service as a sandbox: its own processes are not those of a command, and survive a command's time-out."""

from __future__ import annotations

import re
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress

from pytest_swe.model import ExecResult
from pytest_swe.sandbox.docker_answers import NotStarted
from pytest_swe.sandbox.docker_engine import Engine
from pytest_swe.sandbox.docker_sandbox import DockerSandbox
from pytest_swe.sandbox.docker_stream import Demultiplexer
from pytest_swe.sandbox.output import BoundedOutput

#: Prints each process but this shell as PID:START, which together name it for good.
PROCESSES = """\
for stat in /proc/[0-9]*/stat; do
    read -r line <"$stat" || continue
    pid=${line%% *}; set -- ${line##*) }
    [ "$pid" = $$ ] || printf '%s:%s ' "$pid" "${20}"
done 2>/dev/null
"""

#: Kills all but the processes of KEPT and what those but the first started themselves. Whoever is to die is stopped
#: first, until none is found that still runs: what forks faster than it is killed would never end.
KILL = """\
kept=' KEPT '
spared() {
    pid=$1 depth=0
    while [ "$depth" -lt 64 ]; do
        depth=$((depth + 1))
        { read -r line </proc/$pid/stat; } 2>/dev/null || return 0
        set -- ${line##*) }
        case $kept in *" $pid:${20} "*) [ "$depth" = 1 ] || [ "$pid" != 1 ]; return ;; esac
        pid=$2
        [ "$pid" -gt 1 ] || return 1
    done
    return 1
}
round=0 running=yes
while [ -n "$running" ] && [ "$round" -lt 50 ]; do
    round=$((round + 1)) running= victims=
    for place in /proc/[0-9]*; do
        victim=${place#/proc/}
        [ "$victim" = $$ ] || spared "$victim" && continue
        { read -r line <"$place/stat"; } 2>/dev/null || continue
        case ${line##*) } in [ZXx]*) continue ;; [Tt]*) ;; *) running=yes; kill -STOP "$victim" 2>/dev/null ;; esac
        victims="$victims $victim"
    done
done
[ -z "$victims" ] || kill -KILL $victims 2>/dev/null
:
"""


class ServiceSandbox(DockerSandbox):
    """See `DockerSandbox`. What ran in the service before the first command is the service, and is spared."""

    def __init__(self, engine: Engine, container: str, *, user: str, workdir: str, attach: tuple[str, ...]) -> None:
        super().__init__(engine, container, user=user, workdir=workdir, attach=attach)
        self._lock = threading.Lock()
        self._kept: str | None = None
        self._kept_outside: frozenset[str] = frozenset()
        self._before: frozenset[str] = frozenset()
        self._users = {"0"}

    def exec(
        self,
        argv: Sequence[str],
        *,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        user: str | None = None,
        stdin: bytes = b"",
        timeout: float,
    ) -> ExecResult:
        """As `DockerSandbox.exec`; a time-out kills what commands started, not the service."""
        with self._lock:
            if self._kept is None:
                with self._standing():
                    self._know_the_service()
        self._users.add(user or self._user)
        return super().exec(argv, cwd=cwd, env=env, user=user, stdin=stdin, timeout=timeout)

    def _know_the_service(self) -> None:
        outside = frozenset(process["pid"] for process in self._engine.processes(self.id))
        with BoundedOutput() as said:
            self._as_root(PROCESSES, self._soon(), Demultiplexer(said, said).feed)
            found = re.findall(rb"\d+:\d+", said.value())
        self._kept, self._kept_outside = b" ".join(found).decode(), outside

    def _kill_once(self, deadline: float) -> None:
        """Root of a container that runs as another user may not kill that user's processes: each kills its own."""
        self._before = frozenset(process["pid"] for process in self._engine.processes(self.id))
        script = KILL.replace("KEPT", self._kept or "")
        for user in sorted(self._users):
            with suppress(NotStarted):  # no such user, so nothing of it runs
                self._as_root(script, deadline, user=user)

    def _survivors(self) -> list[str]:
        state = self._engine.state(self.id)
        first = str(state.pid) if state else ""
        processes = {process["pid"]: process for process in self._engine.processes(self.id)}
        return [
            process["comm"]
            for pid, process in processes.items()
            if process["stat"][0] not in "ZX"
            and (process["ppid"], process["comm"]) != (first, "sleep")
            and not self._is_the_services(pid, first, processes)
        ]

    def _is_the_services(self, pid: str, first: str, processes: Mapping[str, Mapping[str, str]]) -> bool:
        """Whether it stood before all commands, or was started by one that did, or by the engine since the kill.

        The engine starts health checks. The first process is nobody's parent here: it inherits whatever is left behind.
        """
        while pid not in self._kept_outside:
            parent = processes[pid]["ppid"]
            if parent == first:
                return False
            if parent not in processes:
                return pid not in self._before
            pid = parent
        return True
