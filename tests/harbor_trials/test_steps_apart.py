"""Steps in one container: what the grader owns, and what another step was told, reaches no later agent."""

from __future__ import annotations

import pytest

from pytest_swe.agent.command import CommandAgent

from .conftest import Try

pytestmark = pytest.mark.docker

#: Where a secret of the grader's can be read by whoever runs this, file names only; ``proc`` has this text itself.
LOOK = """
ls -laR /tests /solution /logs/verifier > "$SWE_LOGS/listed" 2>&1
grep -rlsE 'GRADERS-[0-9]+' / --exclude-dir=proc --exclude-dir=sys --exclude-dir=dev > "$SWE_LOGS/found"
cat "$SWE_INSTRUCTION" > "$SWE_LOGS/told"
"""
TEST = """#!/bin/bash
# GRADERS-2
echo GRADERS-3 > /logs/verifier/notes
echo GRADERS-4
echo 1 > /logs/verifier/reward.txt
"""
TASK = {
    "instruction.md": "GRADERS-1: all of it\n",
    "tests/test.sh": TEST,
    "tests/data": "GRADERS-5\n",
    "solution/solve.sh": "# GRADERS-6\n",
    "steps/a/instruction.md": "only a\n",
    "steps/b/instruction.md": "only b\n",
    "steps/b/tests/more": "GRADERS-7\n",
}
STEPS = '[[steps]]\nname = "a"\n[[steps]]\nname = "b"\n'


@pytest.mark.parametrize("user", ["root", "bob"])
def test_the_second_agent_sees_nothing_of_the_graders(user: str, trial: Try) -> None:
    done = trial({**TASK, "task.toml": f'agent.user = "{user}"\n{STEPS}'}, CommandAgent(LOOK))
    assert done.reward.status == "resolved", str(done)
    for step in ("a", "b"):
        assert done.text(f"steps/{step}/agent/told") == f"only {step}\n"
        assert done.text(f"steps/{step}/agent/found") == ""
    listed = done.text("steps/b/agent/listed")
    assert listed.count("No such file or directory") == 2
    assert "notes" not in listed
    assert "GRADERS-4" in done.text("steps/a/verifier/test-stdout.txt")
    assert done.text("steps/a/verifier/notes") == "GRADERS-3\n"


def test_a_removal_that_fails_ends_the_trial_and_buys_nothing(trial: Try) -> None:
    """The program that removes says that it did; what is left is seen from outside. Without an agent it does remove."""
    done = trial({**TASK, "task.toml": STEPS}, CommandAgent("cp /bin/true /bin/rm"))
    assert (done.reward.status, done.reward.reason) == ("unresolved", "not_removed"), str(done)
    assert "/tests" in done.reward.detail
    assert done.reward.reward == 0.0
    assert [step["name"] for step in done.steps] == ["a"]
    assert not (done.place / "steps" / "b").exists()


def test_a_removal_that_fails_for_nobody_is_the_tasks_fault(trial: Try) -> None:
    broken = "cp /bin/true /bin/rm\n"
    done = trial({**TASK, "tests/test.sh": TEST + broken, "task.toml": STEPS}, CommandAgent("true"))
    assert (done.reward.status, done.reward.reason) == ("error", "not_removed"), str(done)
    assert done.reward.reward is None


def test_a_gate_ends_the_trial(trial: Try) -> None:
    gated = '[[steps]]\nname = "a"\nmin_reward = 2.0\n[[steps]]\nname = "b"\n'
    done = trial({**TASK, "task.toml": gated}, CommandAgent("true"))
    assert (done.reward.status, done.reward.reason) == ("unresolved", "reward_below")
    assert done.steps[0]["min_reward"] == "min_reward asks for reward >= 2, got 1"
    assert len(done.steps) == 1


def test_a_step_that_an_earlier_agent_spoilt_is_no_error(trial: Try) -> None:
    """The set-up of the second step fails because of what the first agent did; without an agent it does not."""
    files = {**TASK, "task.toml": STEPS, "steps/b/workdir/setup.sh": "[ ! -e /app/spoilt ]\n"}
    done = trial(files, CommandAgent("touch /app/spoilt"))
    assert (done.reward.status, done.reward.reason) == ("unresolved", "verifier_failed"), str(done)
    assert done.steps[1]["exception"]["type"] == "RuntimeError"


def test_processes_of_an_agent_are_gone_before_the_next_step(trial: Try) -> None:
    # Neither look finds itself: there the number is written otherwise.
    script = 'grep -lsa "432[1]" /proc/[0-9]*/cmdline > "$SWE_LOGS/left"\n'
    script += "(setsid sleep $((4320 + 1)) > /dev/null 2>&1 &)\n"
    script += "n=0; while [ $n -lt 100 ] && "
    script += '! grep -lsa "432[1]" /proc/[0-9]*/cmdline > "$SWE_LOGS/started"; do sleep 0.1; n=$((n + 1)); done\n'
    look = '#!/bin/bash\ngrep -lsa "432[1]" /proc/[0-9]*/cmdline > /logs/verifier/left\n'
    look += "echo 1 > /logs/verifier/reward.txt\n"
    done = trial({**TASK, "task.toml": STEPS, "tests/test.sh": look}, CommandAgent(script))
    assert done.reward.status == "resolved", str(done)
    assert done.text("steps/a/agent/started") != ""
    assert done.text("steps/a/verifier/left") == ""
    assert done.text("steps/b/agent/left") == ""


def test_a_user_that_the_container_does_not_have_is_the_tasks_fault(trial: Try) -> None:
    done = trial({**TASK, "task.toml": f'agent.user = "ghost"\n{STEPS}'}, CommandAgent("true"))
    assert (done.reward.status, done.reward.reason) == ("error", "row_invalid"), str(done)
    assert "agent.user: nothing can be run as 'ghost'" in done.reward.detail
