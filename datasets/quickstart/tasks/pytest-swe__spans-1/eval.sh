#!/bin/bash
set -uxo pipefail
cd "${TESTBED:-/testbed}"
export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=safe.directory GIT_CONFIG_VALUE_0='*'
git status
git show
git -c core.fileMode=false diff 57c777513cca528698eddc8cf0127d17e37901f8
git checkout 57c777513cca528698eddc8cf0127d17e37901f8 tests/test_span.py tests/test_spanset.py
git apply -v - <<'EOF_114329324912'
diff --git a/tests/test_span.py b/tests/test_span.py
index f263228..0c8ec4e 100644
--- a/tests/test_span.py
+++ b/tests/test_span.py
@@ -25,3 +25,12 @@ def test_backwards_span_is_refused():
 def test_overlap():
     assert Span(0, 5).overlaps(Span(4, 9))
     assert not Span(0, 5).overlaps(Span(6, 9))
+
+
+def test_spans_end_to_end_do_not_overlap():
+    assert not Span(0, 5).overlaps(Span(5, 9))
+    assert not Span(5, 9).overlaps(Span(0, 5))
+
+
+def test_empty_span_overlaps_nothing():
+    assert not Span(3, 3).overlaps(Span(0, 5))
diff --git a/tests/test_spanset.py b/tests/test_spanset.py
index 2998769..fe48814 100644
--- a/tests/test_spanset.py
+++ b/tests/test_spanset.py
@@ -34,3 +34,8 @@ def test_conflicts_names_both_spans():
 
 def test_distant_sets_are_disjoint():
     assert SpanSet([Span(0, 1)]).isdisjoint(SpanSet([Span(2, 3)]))
+
+
+def test_back_to_back_bookings_do_not_conflict():
+    assert SpanSet([Span(9, 10)]).conflicts(SpanSet([Span(10, 11)])) == []
+    assert SpanSet([Span(9, 10)]).isdisjoint(SpanSet([Span(10, 11)]))
EOF_114329324912
: '>>>>> Start Test Output'
python3 -m pytest -rA -c pyproject.toml -p no:cacheprovider tests/test_span.py tests/test_spanset.py
: '>>>>> End Test Output'
git checkout 57c777513cca528698eddc8cf0127d17e37901f8 tests/test_span.py tests/test_spanset.py
