import json
import sys

try:
    with open("/app/counts.json") as file:
        found = json.load(file)
except (OSError, ValueError) as error:
    sys.exit(f"no counts: {error}")
sys.exit(0 if found == {"a": 3, "rose": 3, "is": 2} else f"wrong: {found}")
