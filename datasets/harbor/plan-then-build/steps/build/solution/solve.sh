#!/bin/bash
echo 'for number in range(1, 11): print(number * number)' > squares.py
