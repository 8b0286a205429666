"""The processes of a sandbox: which there are, and an end to all that came after.

A container may have services of its own, so "everything" is not what must end when an agent has. Little but the
shell's own words is used inside: programs there may be the candidate's.
"""

from __future__ import annotations

from pathlib import Path

from pytest_swe.errors import HarnessError
from pytest_swe.model import Reason
from pytest_swe.sandbox.base import ROOT, Sandbox

#: A process is its number and the time of its start, so that a number that is used again is another process.
Processes = frozenset[str]

#: A root candidate can plant programs in /usr/local/bin, which stands first on the usual PATH. Who replaces /bin itself
#: cannot be helped in a container that is shared with it.
SAFE_PATH = "/usr/sbin:/usr/bin:/sbin:/bin:/usr/local/sbin:/usr/local/bin"

_ENV = {"PATH": SAFE_PATH}
_SECONDS = 60.0
_ROUNDS = 200

#: Field 22 of /proc/PID/stat is the start; what stands in brackets before may hold anything, brackets too.
#: https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html
_EACH = """
each() {
  for d in /proc/[0-9]*; do
    p=${d#/proc/}
    [ "$p" != "$$" ] || continue
    { IFS= read -r line < "$d/stat"; } 2>/dev/null || continue
    rest=${line##*") "}
    set -- $rest
    case $1 in Z|X) continue ;; esac
    "$each" "$p" "${20}"
  done
}
"""
#: Nothing is to be done where the processes are this host's own, nor where each command sees processes of its own.
_ELSEWHERE = """
first() { IFS= read -r line < /proc/1/stat; rest=${line##*") "}; set -- $rest; first=${20}; }
read -r boot < /proc/sys/kernel/random/boot_id
first
[ "$boot $first" != "$3" ] || exit 0
case " $1 " in *" 1:$first "*) ;; *) exit 0 ;; esac
"""
_LIST = _EACH + 'show() { echo "$1:$2"; }\neach=show; each\n'
_END = (
    _ELSEWHERE
    + _EACH
    + """
known=" $1 " left=$2
end() {
  case $known in *" $1:$2 "*) return ;; esac
  found=1
  kill -9 "$1" 2>/dev/null
}
each=end
while [ "$left" -gt 0 ]; do
  found=0
  each
  [ "$found" = 1 ] || exit 0
  left=$((left - 1))
done
exit 3
"""
)


#: The script's own word, unlike what a shell says that cannot be started or is not the shell.
_COMES_AGAIN = 3


class NotEnded(HarnessError):
    """Processes come faster than they can be ended, or may not be; or nothing can be run that ends them."""

    reason = Reason.SUITE_DID_NOT_RUN


def processes(sandbox: Sandbox) -> Processes:
    """All processes that the sandbox sees now. Raises SandboxError."""
    done = sandbox.exec(["/bin/sh", "-c", _LIST], cwd="/", user=ROOT, env=_ENV, timeout=_SECONDS)
    return frozenset(done.stdout.decode("ascii", "replace").split())


def end_others(sandbox: Sandbox, before: Processes) -> None:
    """End every process but those of ``before``. Raises NotEnded saying what went wrong, SandboxError.

    Nothing is done where a sandbox has no processes that stay: there a command takes all of its own with it.
    """
    words = [" ".join(sorted(before)), str(_ROUNDS), _here()]
    done = sandbox.exec(["/bin/sh", "-c", _END, "swe", *words], cwd="/", user=ROOT, env=_ENV, timeout=_SECONDS)
    if done.exit_code == _COMES_AGAIN:
        raise NotEnded("processes that the agent left behind cannot be ended: new ones come, or they may not be killed")
    if done.timed_out or done.exit_code != 0:
        said = (done.stderr or done.stdout).decode("utf-8", "replace").strip()[-200:]
        ended = f"no end after {_SECONDS:.10g} s" if done.timed_out else f"status {done.exit_code}"
        told = ": ".join(filter(None, (ended, said)))
        raise NotEnded(f"the command that ends what the agent left behind does not work in its container: {told}")


def _here() -> str:
    """What a sandbox would see that shares this host's processes: to end the others there would end ours."""
    boot, first = (Path(name).read_text() for name in ("/proc/sys/kernel/random/boot_id", "/proc/1/stat"))
    return f"{boot.strip()} {first.rpartition(') ')[2].split()[19]}"
