"""What a person is told about an item that did not resolve: about fifteen lines, no internals."""

from __future__ import annotations

from collections.abc import Iterator

from pytest_swe.model import Reason
from pytest_swe.reward import Outcome, RequiredTests

#: What runs the evaluation once more in a sandbox that was kept: the patch is in already, or the agent's work.
REPEAT = "bash /pytest-swe/eval.sh"
REPEAT_OF_FAMILY = {"harbor": "bash /tests/test.sh"}

#: Lines of a detail that are shown; of a longer one the first, and its last words.
DETAIL_LINES = 5

#: Lines of the failing test's traceback that are shown, and ids of broken tests.
EXCERPT_LINES = 10
SHOWN_IDS = 3

WORDS = {
    Reason.TESTS_FAILED: "required tests fail",
    Reason.EMPTY_PATCH: "the patch is empty",
    Reason.PATCH_APPLY_FAILED: "the patch does not apply",
    Reason.TESTS_TIMED_OUT: "the tests ran out of time",
    Reason.TAMPERED: "the log was tampered with",
    Reason.MISSING_PREDICTION: "there is no prediction",
    Reason.SUITE_DID_NOT_RUN: "the test suite did not run",
}


#: A resolved outcome is explained only when it is a failure: the control that must not resolve did.
UNWANTED_PASS = "the unpatched tree must not resolve, so these tests prove nothing"


def explain(outcome: Outcome, logs: str = "") -> str:
    """The text for one outcome; ``logs`` is where its files are."""
    return "\n".join(_lines(outcome, logs))


def _lines(outcome: Outcome, logs: str) -> Iterator[str]:
    reward, report = outcome.reward, outcome.report
    words = WORDS.get(Reason(reward.reason), reward.reason) if reward.reason else UNWANTED_PASS
    yield f"{reward.reason}: {words}" if reward.reason and words != reward.reason else words
    if reward.detail and reward.detail != words:
        yield from (f"  {line}" for line in _shortened(reward.detail.splitlines()))
    if reward.apply is not None and reward.apply.outcome != "none":
        yield "  patch: " + _apply(outcome)
    if report is not None and reward.tests is not None and _counted(reward.tests):
        for name, bucket in (("FAIL_TO_PASS", report.fail_to_pass), ("PASS_TO_PASS", report.pass_to_pass)):
            total = len(bucket.success) + len(bucket.failure)
            yield f"  {name}: {len(bucket.success)} of {total}" + _listed(bucket.failure)
    if report is not None and report.excerpt:
        yield f"  {report.first_failure or 'end of the log'}:"
        yield from (f"  | {line[:160]}" for line in report.excerpt.splitlines()[-EXCERPT_LINES:])
    if reward.flags:
        yield f"  flags: {', '.join(reward.flags)}"
    if reward.attempts:
        yield f"  attempts before: {', '.join(attempt.reason for attempt in reward.attempts)}"
    if logs:
        yield f"  log: {logs}"


def repeat(outcome: Outcome) -> str:
    """The command that runs the tests again in the sandbox that was kept."""
    return REPEAT_OF_FAMILY.get(outcome.reward.family, REPEAT)


def _shortened(lines: list[str]) -> list[str]:
    return lines if len(lines) <= DETAIL_LINES else [lines[0], "...", *lines[2 - DETAIL_LINES :]]


def _counted(tests: RequiredTests) -> bool:
    return any((tests.fail_to_pass.success, tests.fail_to_pass.failure, tests.pass_to_pass.success))


def _apply(outcome: Outcome) -> str:
    apply = outcome.reward.apply
    assert apply is not None
    if apply.outcome == "failed":
        output = outcome.log.steps[0].apply.output if outcome.log else ""
        last = [line for line in output.splitlines() if line.strip()][-1:]
        return "not applied" + (f" ({last[0][:140]})" if last else "")
    parts = [f"applied by {apply.attempt}"]
    if not apply.whole:
        parts.append("not whole")
    parts += [f"repaired: {name}" for name in apply.normalised]
    return ", ".join(parts)


def _listed(failed: tuple[str, ...]) -> str:
    if not failed:
        return ""
    more = f" and {len(failed) - SHOWN_IDS} more" if len(failed) > SHOWN_IDS else ""
    return "; not: " + ", ".join(failed[:SHOWN_IDS]) + more
