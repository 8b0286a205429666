"""Runs on a real engine to which harm is done. What must hold after each is one function: `accounting.survived`."""
