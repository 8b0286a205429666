#!/bin/bash
set -uxo pipefail
cd "${TESTBED:-/testbed}"
export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=safe.directory GIT_CONFIG_VALUE_0='*'
git status
git show
git -c core.fileMode=false diff 5c6e4170b9783ca19188d6ea8463a4f764baf3a1
git checkout 5c6e4170b9783ca19188d6ea8463a4f764baf3a1 tests/test_filter.py
rm -f tests/test_filters.py
git apply -v - <<'EOF_114329324912'
diff --git a/tests/test_filter.py b/tests/test_filters.py
similarity index 71%
rename from tests/test_filter.py
rename to tests/test_filters.py
index a7ad12b..6b63ff9 100644
--- a/tests/test_filter.py
+++ b/tests/test_filters.py
@@ -13,6 +13,12 @@ class FilterTest(unittest.TestCase):
     def test_join(self):
         self.assertEqual(render("{{ names | join }}", names=["Ada", "Grace"]), "Ada, Grace")
 
+    def test_capitalize(self):
+        self.assertEqual(render("{{ name | capitalize }}", name="ada LOVELACE"), "Ada LOVELACE")
+
+    def test_capitalize_nothing(self):
+        self.assertEqual(render("{{ name | capitalize }}", name=""), "")
+
     def test_unknown_filter(self):
         with self.assertRaisesRegex(UnknownFilter, "shout .there are: .*upper"):
             render("{{ name | shout }}", name="ada")
EOF_114329324912
: '>>>>> Start Test Output'
python3 -m pytest -rA -c setup.cfg -p no:cacheprovider tests/test_filters.py
: '>>>>> End Test Output'
git checkout 5c6e4170b9783ca19188d6ea8463a4f764baf3a1 tests/test_filter.py
rm -f tests/test_filters.py
