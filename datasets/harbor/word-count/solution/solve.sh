#!/bin/bash
python3 - <<'END'
import collections, json
json.dump(collections.Counter(open("/app/text.txt").read().split()), open("/app/counts.json", "w"))
END
