#!/bin/bash
cat > greet.py <<'END'
def greet(name):
    """A greeting."""
    return f"Hello, {name}!"
END
