#!/bin/bash
if [ "$(cat pear.txt 2>/dev/null)" = 17 ]; then echo 1; else echo 0; fi > /logs/verifier/reward.txt
