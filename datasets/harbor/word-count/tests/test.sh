#!/bin/bash
if [ -e /app/text.txt ]; then echo "this is the agent's container"; exit 1; fi
if python3 /tests/check.py; then echo 1; else echo 0; fi > /logs/verifier/reward.txt
