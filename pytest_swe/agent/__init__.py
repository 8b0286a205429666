"""Agents: what makes a candidate inside a sandbox, how it reaches its model, and what is taken of its work."""
