"""An agent's work taken from a tree, and what it may not find there."""
