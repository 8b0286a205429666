#!/bin/bash
set -uxo pipefail
cd "${TESTBED:-/testbed}"
export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=safe.directory GIT_CONFIG_VALUE_0='*'
git status
git show
git -c core.fileMode=false diff 8dafeae0567a2f0023357f4fe755ba6cc11cdc93
git checkout 8dafeae0567a2f0023357f4fe755ba6cc11cdc93 tests/test_planted.py
git apply -v - <<'EOF_114329324912'
diff --git a/tests/test_planted.py b/tests/test_planted.py
index 7bab13c..57d87c5 100644
--- a/tests/test_planted.py
+++ b/tests/test_planted.py
@@ -3,3 +3,7 @@ from planted import count_words
 
 def test_count():
     assert count_words("one two") == 2
+
+
+def test_spaces_do_not_count():
+    assert count_words("  one   two  ") == 2
EOF_114329324912
: '>>>>> Start Test Output'
python3 -m pytest -rA -c pyproject.toml -p no:cacheprovider tests/test_planted.py
: '>>>>> End Test Output'
git checkout 8dafeae0567a2f0023357f4fe755ba6cc11cdc93 tests/test_planted.py
