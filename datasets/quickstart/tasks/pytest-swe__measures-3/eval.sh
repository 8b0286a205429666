#!/bin/bash
set -uxo pipefail
cd "${TESTBED:-/testbed}"
export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=safe.directory GIT_CONFIG_VALUE_0='*'
git status
git show
git -c core.fileMode=false diff 9942365379919a8ff00cf9785d53072bbd28bb4b
git checkout 9942365379919a8ff00cf9785d53072bbd28bb4b tests/test_text.py
git apply -v - <<'EOF_114329324912'
diff --git a/tests/test_text.py b/tests/test_text.py
index fe8de72..fb1050a 100644
--- a/tests/test_text.py
+++ b/tests/test_text.py
@@ -14,6 +14,15 @@ def test_written_symbols(text, metres):
     assert read(text, "m") == pytest.approx(metres)
 
 
+@pytest.mark.parametrize(
+    ("text", "metres"),
+    [("3\u03bcm", 3e-6), ("1\u212b", 1e-10), ("1A\u030a", 1e-10), ("2\u339e", 2000)],
+    ids=["Greek mu", "Ångström sign", "combining ring", "square km"],
+)
+def test_lookalikes(text, metres):
+    assert read(text, "m") == pytest.approx(metres)
+
+
 def test_unknown_symbol():
     with pytest.raises(UnknownUnit, match="Ω"):
         read("5 Ω", "m")
EOF_114329324912
: '>>>>> Start Test Output'
python3 -m pytest -rA -c pyproject.toml -p no:cacheprovider tests/test_text.py
: '>>>>> End Test Output'
git checkout 9942365379919a8ff00cf9785d53072bbd28bb4b tests/test_text.py
