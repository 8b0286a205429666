"""Harbor tasks: their files, their schema, and the rules that lead from reward files to one reward. No engine."""
