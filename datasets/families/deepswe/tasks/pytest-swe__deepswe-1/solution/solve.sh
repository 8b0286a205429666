#!/bin/bash
# What the verifier looks at is the patch alone.
set -euo pipefail
mkdir -p /logs/artifacts
cp /solution/solution.patch /logs/artifacts/model.patch
