#!/bin/bash
set -uxo pipefail
cd "${TESTBED:-/testbed}"
export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=safe.directory GIT_CONFIG_VALUE_0='*'
git status
git show
git -c core.fileMode=false diff 4b187ece1d3cc2406ec8bdaa4b770b87a75966dc
git checkout 4b187ece1d3cc2406ec8bdaa4b770b87a75966dc tests/test_table.py
git apply -v - <<'EOF_114329324912'
diff --git a/tests/test_table.py b/tests/test_table.py
index 7227c3d..24b73df 100644
--- a/tests/test_table.py
+++ b/tests/test_table.py
@@ -21,6 +21,14 @@ def test_imperial_lengths(symbol, metres):
     assert convert(1, symbol, "m") == pytest.approx(metres, rel=1e-12)
 
 
+def test_nautical_mile():
+    assert convert(1, "nmi", "m") == pytest.approx(1852, rel=1e-12)
+
+
+def test_knots_for_an_hour():
+    assert convert(12, "nmi", "km") == pytest.approx(22.224, rel=1e-12)
+
+
 @pytest.mark.parametrize(("symbol", "grams"), [("oz", 28.349523125), ("lb", 453.59237)])
 def test_imperial_masses(symbol, grams):
     assert convert(1, symbol, "g") == pytest.approx(grams, rel=1e-12)
EOF_114329324912
: '>>>>> Start Test Output'
python3 -m pytest -rA -c pyproject.toml -p no:cacheprovider tests/test_table.py
: '>>>>> End Test Output'
git checkout 4b187ece1d3cc2406ec8bdaa4b770b87a75966dc tests/test_table.py
