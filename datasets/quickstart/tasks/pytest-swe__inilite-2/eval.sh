#!/bin/bash
set -uxo pipefail
cd "${TESTBED:-/testbed}"
export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=safe.directory GIT_CONFIG_VALUE_0='*'
git status
git show
git -c core.fileMode=false diff 827375f877f9c5222e4c2477705eb40c2c13965f
rm -f tests/test_comments.py
git apply -v - <<'EOF_114329324912'
diff --git a/tests/test_comments.py b/tests/test_comments.py
new file mode 100644
index 0000000..06b6cde
--- /dev/null
+++ b/tests/test_comments.py
@@ -0,0 +1,35 @@
+import pytest
+
+from inilite import loads
+
+
+def value_of(line):
+    return loads(f"[a]\n{line}\n")["a"]["x"]
+
+
+@pytest.mark.parametrize(
+    ("line", "value"),
+    [
+        ('x = "a ; b"', "a ; b"),
+        ('x = "a # b" ; c', "a # b"),
+        ('x="; a" # "b"', "; a"),
+    ],
+    ids=["semicolon", "then-comment", "quotes-in-comment"],
+)
+def test_no_comment_inside_quotes(line, value):
+    assert value_of(line) == value
+
+
+@pytest.mark.parametrize(
+    ("line", "value"),
+    [
+        ("x = 1 ; one", "1"),
+        ('x = "1" ; one', "1"),
+        ("x = a;b", "a;b"),
+        ('x = 5 " ; inch', '5 "'),
+        ('; x = "0"\nx = 1', "1"),
+    ],
+    ids=["plain", "quoted", "no-space", "one-quote", "whole-line"],
+)
+def test_other_comments(line, value):
+    assert value_of(line) == value
EOF_114329324912
: '>>>>> Start Test Output'
python3 -m pytest -rA -c pytest.ini -p no:cacheprovider tests/test_comments.py
: '>>>>> End Test Output'
rm -f tests/test_comments.py
