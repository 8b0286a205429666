#!/bin/bash
set -uxo pipefail
cd "${TESTBED:-/testbed}"
export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=safe.directory GIT_CONFIG_VALUE_0='*'
git status
git show
git -c core.fileMode=false diff e419a79c4a1c0852d944a4963e8160a924e6a545
git checkout e419a79c4a1c0852d944a4963e8160a924e6a545 tests/test_notation.py
git apply -v - <<'EOF_114329324912'
diff --git a/tests/test_notation.py b/tests/test_notation.py
index 0cbbd3e..bfb4d7f 100644
--- a/tests/test_notation.py
+++ b/tests/test_notation.py
@@ -4,7 +4,7 @@ from spans import Span
 from spans.notation import parse, show
 
 
-@pytest.mark.parametrize("text", ["[0, 1)", "[2.5, 7)", "[10, 10)"])
+@pytest.mark.parametrize("text", ["[0, 1)", "[2.5, 7)", "[10, 10)", "[-3, 4)", "[-2.5, -1)"])
 def test_round_trip(text):
     assert show(parse(text)) == text
 
@@ -13,7 +13,11 @@ def test_spaces_do_not_matter():
     assert parse(" [ 1,2 ) ") == Span(1, 2)
 
 
-@pytest.mark.parametrize("text", ["", "[1, 2]", "[1 2)", "[one, 2)"], ids=["empty", "closed", "no comma", "word"])
+def test_signs():
+    assert parse("[-1, +1)") == Span(-1, 1)
+
+
+@pytest.mark.parametrize("text", ["", "[1, 2]", "[1 2)", "[one, 2)", "[--1, 2)"], ids=["empty", "closed", "no comma", "word", "signs"])
 def test_nonsense_is_refused(text):
     with pytest.raises(ValueError, match="not a span"):
         parse(text)
EOF_114329324912
: '>>>>> Start Test Output'
python3 -m pytest -rA -c pyproject.toml -p no:cacheprovider tests/test_notation.py
: '>>>>> End Test Output'
git checkout e419a79c4a1c0852d944a4963e8160a924e6a545 tests/test_notation.py
