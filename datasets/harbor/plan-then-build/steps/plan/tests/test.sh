#!/bin/bash
if grep -qi square plan.md; then echo 1; else echo 0; fi > /logs/verifier/reward.txt
