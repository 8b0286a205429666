#!/bin/bash
# The reference knows what is wanted, and asks nobody.
cp /solution/plan.md /tmp/plan.md
