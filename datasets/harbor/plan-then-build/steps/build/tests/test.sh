#!/bin/bash
if [ "$(python3 squares.py | tr '\n' ' ')" = "1 4 9 16 25 36 49 64 81 100 " ]; then echo 1; else echo 0; fi \
  > /logs/verifier/reward.txt
