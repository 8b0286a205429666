#!/bin/bash
set -uxo pipefail
cd "${TESTBED:-/testbed}"
export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=safe.directory GIT_CONFIG_VALUE_0='*'
git status
git show
git -c core.fileMode=false diff ae42fe0e07c21828f984f4765862d9c5d7a3f862
git checkout ae42fe0e07c21828f984f4765862d9c5d7a3f862 tests/test_spanset.py
git apply -v - <<'EOF_114329324912'
diff --git a/tests/test_spanset.py b/tests/test_spanset.py
index ca05af8..7d7ef0c 100644
--- a/tests/test_spanset.py
+++ b/tests/test_spanset.py
@@ -35,6 +35,17 @@ def test_difference_of_fractions():
     assert SpanSet([Span(0, 2.5)]) - SpanSet([Span(0.5, 1)]) == SpanSet([Span(0, 0.5), Span(1, 2.5)])
 
 
+def test_difference_cuts_every_hole():
+    day = SpanSet([Span(8, 18)])
+    meetings = SpanSet([Span(9, 10), Span(12, 13), Span(16, 18)])
+    assert day - meetings == SpanSet([Span(8, 9), Span(10, 12), Span(13, 16)])
+
+
+def test_difference_cuts_holes_of_several_spans():
+    numbers = SpanSet([Span(0, 5), Span(10, 15)])
+    assert numbers - SpanSet([Span(1, 2), Span(3, 11), Span(14, 20)]) == SpanSet([Span(0, 1), Span(2, 3), Span(11, 14)])
+
+
 def test_difference_with_a_larger_set_is_empty():
     assert SpanSet([Span(3, 4)]) - SpanSet([Span(0, 9)]) == SpanSet()
 
EOF_114329324912
: '>>>>> Start Test Output'
python3 -m pytest -rA -c pyproject.toml -p no:cacheprovider tests/test_spanset.py
: '>>>>> End Test Output'
git checkout ae42fe0e07c21828f984f4765862d9c5d7a3f862 tests/test_spanset.py
