#!/bin/bash
echo "A loop from 1 to 10 prints each square." > plan.md
