"""A Harbor task from its environment to its reward: the order of a trial, its steps, its verifiers."""
