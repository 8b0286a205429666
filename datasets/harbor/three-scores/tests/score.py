import json
import subprocess
import sys


def asked(code):
    argv = [sys.executable, "-c", f"import sys; sys.path.insert(0, '/app')\n{code}"]
    return subprocess.run(argv, capture_output=True, text=True).stdout


print(
    json.dumps(
        {
            "works": float(asked("from greet import greet; print(greet('Ada'))") == "Hello, Ada!\n"),
            "documented": float(asked("from greet import greet; print(bool(greet.__doc__))") == "True\n"),
            "quiet": float(asked("import greet; print('end')") == "end\n"),
        }
    )
)
