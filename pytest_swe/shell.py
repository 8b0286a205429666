"""``--swe-shell``: a shell in the sandbox of an item that failed, as ``--pdb`` does for code. Single process only."""

from __future__ import annotations

import shlex
import subprocess
import sys

import pytest

from pytest_swe.explain import repeat
from pytest_swe.item import OUTCOME, SweItem
from pytest_swe.job import Job
from pytest_swe.run import Run


class ShellPlugin:
    """Opens the shell after the report of a failed item, then removes the sandbox unless ``--swe-keep``."""

    def __init__(self, run: Run) -> None:
        self.run = run

    @pytest.hookimpl(trylast=True)
    def pytest_exception_interact(self, node: pytest.Item, report: pytest.TestReport) -> None:
        if not isinstance(node, SweItem) or OUTCOME not in node.stash:
            return
        outcome = node.stash[OUTCOME]
        command = outcome.kept
        if not command:
            return
        capture = node.config.pluginmanager.getplugin("capturemanager")
        if capture is not None:
            capture.suspend(in_=True)
        try:
            sys.stdout.write(f"\n{report.longrepr}\n\n{shlex.join(command)}\n(the tests again: {repeat(outcome)})\n")
            sys.stdout.flush()
            subprocess.run(command, check=False)
        finally:
            job = node.funcargs["swe_job"]
            if isinstance(job, Job) and not self.run.settings.keep:
                job.discard()
            if capture is not None:
                capture.resume()
