#!/bin/bash
# Steps before the last one are not judged.
echo 1 > /logs/verifier/reward.txt
