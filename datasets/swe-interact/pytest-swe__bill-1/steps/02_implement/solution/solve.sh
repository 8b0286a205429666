#!/bin/bash
set -e
cd /app
git rev-parse HEAD > /tmp/base_commit.txt
git apply /solution/implementation.patch
git commit --quiet --all --message "Bills can be split"
