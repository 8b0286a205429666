#!/bin/bash
set -e
base=$(cat /tmp/base_commit.txt)
git -C /app log --patch --reverse "$base"..HEAD > /logs/agent/change-log.txt
git -C /app diff "$base"..HEAD > /logs/agent/final.diff
