#!/bin/bash
set -uxo pipefail
cd "${TESTBED:-/testbed}"
export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=safe.directory GIT_CONFIG_VALUE_0='*'
git status
git show
git -c core.fileMode=false diff 5e3ed6ca8f205d5419961b1c06e9ec23371202aa
git checkout 5e3ed6ca8f205d5419961b1c06e9ec23371202aa tests/test_template.py tests/test_filter.py
git apply -v - <<'EOF_114329324912'
diff --git a/tests/test_filter.py b/tests/test_filter.py
index 0fab29a..49c0034 100644
--- a/tests/test_filter.py
+++ b/tests/test_filter.py
@@ -10,6 +10,12 @@ class FilterTest(unittest.TestCase):
     def test_filters_in_a_row(self):
         self.assertEqual(render("<{{ name | trim | upper }}>", name=" ada "), "<ADA>")
 
+    def test_safe(self):
+        self.assertEqual(render("{{ body | safe }}", body="<hr>"), "<hr>")
+
+    def test_filters_see_the_value_as_it_is(self):
+        self.assertEqual(render("{{ name | upper }}", name="a&b"), "A&amp;B")
+
     def test_unknown_filter(self):
         with self.assertRaisesRegex(UnknownFilter, "shout .there are: .*upper"):
             render("{{ name | shout }}", name="ada")
diff --git a/tests/test_template.py b/tests/test_template.py
index d3292d5..49d3e21 100644
--- a/tests/test_template.py
+++ b/tests/test_template.py
@@ -21,6 +21,15 @@ class TemplateTest(unittest.TestCase):
         self.assertEqual(render("{{ user.name }}", user={"name": "Ada"}), "Ada")
         self.assertEqual(render("{{ n.real }}", n=7), "7")
 
+    def test_values_are_escaped(self):
+        self.assertEqual(render("<p>{{ name }}</p>", name="<b>Ada & Co</b>"), "<p>&lt;b&gt;Ada &amp; Co&lt;/b&gt;</p>")
+
+    def test_values_cannot_leave_an_attribute(self):
+        self.assertEqual(render('<a title="{{ t }}">', t='" onclick="x'), '<a title="&quot; onclick=&quot;x">')
+
+    def test_text_of_the_template_is_not_escaped(self):
+        self.assertEqual(render("<b>{{ n }}</b> & more", n=1), "<b>1</b> & more")
+
     def test_missing_value(self):
         with self.assertRaisesRegex(MissingValue, "name"):
             render("{{ name }}")
EOF_114329324912
: '>>>>> Start Test Output'
python3 -m pytest -rA -c setup.cfg -p no:cacheprovider tests/test_template.py tests/test_filter.py
: '>>>>> End Test Output'
git checkout 5e3ed6ca8f205d5419961b1c06e9ec23371202aa tests/test_template.py tests/test_filter.py
