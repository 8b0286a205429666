#!/bin/bash
set -uxo pipefail
cd "${TESTBED:-/testbed}"
export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=safe.directory GIT_CONFIG_VALUE_0='*'
git status
git show
git -c core.fileMode=false diff ec908cd3c6fb5805aca6b405da1973e9870ac38e
git checkout ec908cd3c6fb5805aca6b405da1973e9870ac38e tests/test_writer.py
git apply -v - <<'EOF_114329324912'
diff --git a/tests/test_writer.py b/tests/test_writer.py
index 4711134..29d1888 100644
--- a/tests/test_writer.py
+++ b/tests/test_writer.py
@@ -11,3 +11,13 @@ def test_text():
 def test_round_trip(value):
     sections = {"a": {"x": value}}
     assert loads(dumps(sections)) == sections
+
+
+@pytest.mark.parametrize("value", [" x", "x\t", '"x"', '""', " "], ids=["before", "after", "quotes", "only-quotes", "blank"])
+def test_round_trip_needs_quotes(value):
+    sections = {"a": {"x": value}}
+    assert loads(dumps(sections)) == sections
+
+
+def test_quotes_only_where_needed():
+    assert dumps({"a": {"x": " 1", "y": 'say "hi"'}}) == '[a]\nx = " 1"\ny = say "hi"\n'
EOF_114329324912
: '>>>>> Start Test Output'
python3 -m pytest -rA -c pytest.ini -p no:cacheprovider tests/test_writer.py
: '>>>>> End Test Output'
git checkout ec908cd3c6fb5805aca6b405da1973e9870ac38e tests/test_writer.py
