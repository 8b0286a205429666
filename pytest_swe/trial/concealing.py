"""Between two steps: what the grader owns is taken away, and seen to be away before the next agent starts."""

from __future__ import annotations

import posixpath

from pytest_swe.errors import HarnessError, SweError
from pytest_swe.model import Reason
from pytest_swe.sandbox.base import Sandbox
from pytest_swe.sandbox.processes import SAFE_PATH
from pytest_swe.trial.inside import AGENT_LOGS, SOLUTION, TESTS, VERIFIER_LOGS, fresh, left_at, must

#: As the next agent: what there is of the grader's, one name a line.
_LOOK = f"""
for d in {TESTS} {SOLUTION}; do [ ! -e "$d" ] && [ ! -L "$d" ] || echo "$d"; done
cd {VERIFIER_LOGS} || exit 1
for f in * .[!.]* ..?*; do [ ! -e "$f" ] && [ ! -L "$f" ] || echo "{VERIFIER_LOGS}/$f"; done
:
"""
_REMOVE = 'for p in "$@"; do rm -rf "$p" || exit 1; done'


class NotRemoved(SweError):
    """What the grader owns can still be read by the next agent: the trial ends here.

    An agent that is root can bring this about, so that the control says whose fault it is.
    """

    reason = Reason.NOT_REMOVED


def conceal(main: Sandbox, user: str | None) -> None:
    """Take away what the grader owns, and look for it: from outside, and as the next agent, which is ``user``.

    The agent's own logs go too, as in Harbor. Raises NotRemoved, SandboxError.
    """
    try:
        must(main, _REMOVE, TESTS, SOLUTION)
        fresh(main, VERIFIER_LOGS, AGENT_LOGS)
    except HarnessError as error:
        raise NotRemoved(f"what the grader owns cannot be taken away: {error}") from error
    left = [posixpath.join(place, name) for place in (TESTS, SOLUTION) for name in left_at(main, place)]
    left += [posixpath.join(VERIFIER_LOGS, name) for name in left_at(main, VERIFIER_LOGS) if name]
    seen = main.exec(["/bin/sh", "-c", _LOOK], user=user, env={"PATH": SAFE_PATH}, timeout=60)
    left += seen.stdout.decode("utf-8", "replace").split()
    if left or seen.timed_out or seen.exit_code != 0:
        raise NotRemoved(f"the next agent could read {', '.join(left[:5]) or 'what the grader owns'}")
