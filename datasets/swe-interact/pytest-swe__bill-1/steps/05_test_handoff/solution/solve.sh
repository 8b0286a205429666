#!/bin/bash
set -e
git -C /app status --short > /logs/agent/test-handoff-status.txt
git -C /app diff "$(cat /tmp/base_commit.txt)"..HEAD > /logs/artifacts/model.patch
