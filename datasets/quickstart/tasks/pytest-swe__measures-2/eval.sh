#!/bin/bash
set -uxo pipefail
cd "${TESTBED:-/testbed}"
export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=safe.directory GIT_CONFIG_VALUE_0='*'
git status
git show
git -c core.fileMode=false diff 97050108f97b9cdbd8720d9a143a3b280f05a387
git checkout 97050108f97b9cdbd8720d9a143a3b280f05a387 tests/test_temperature.py
git apply -v - <<'EOF_114329324912'
diff --git a/tests/test_temperature.py b/tests/test_temperature.py
index 84b142e..dc24ea9 100644
--- a/tests/test_temperature.py
+++ b/tests/test_temperature.py
@@ -20,6 +20,16 @@ def test_rankine(equation):
     check(equation)
 
 
+@pytest.mark.parametrize("equation", ["100 degC = 212 degF", "-40 degC = -40 degF", "310.15 K = 98.6 degF"])
+def test_fahrenheit(equation):
+    check(equation)
+
+
+@pytest.mark.parametrize("equation", ["100 degC = 80 degRe", "212 degF = 80 degRe"])
+def test_reaumur(equation):
+    check(equation)
+
+
 def test_unknown_scale():
     with pytest.raises(UnknownUnit, match="degX"):
         convert_temperature(1, "K", "degX")
EOF_114329324912
: '>>>>> Start Test Output'
python3 -m pytest -rA -c pyproject.toml -p no:cacheprovider tests/test_temperature.py
: '>>>>> End Test Output'
git checkout 97050108f97b9cdbd8720d9a143a3b280f05a387 tests/test_temperature.py
