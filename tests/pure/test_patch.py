"""Describing patches: against what git itself writes, against real predictions, and on any bytes."""

from __future__ import annotations

import gzip
import json
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_swe.patch import PatchFile, describe, is_inside, normalise

NAMES = st.sampled_from(
    ["a.py", "b c.py", "d/e.py", "d/f g/h.txt", "tab\there", "caf\u00e9.py", 'quo"te', "back\\slash", "--- x", "b"]
)
CONTENTS = st.one_of(
    st.binary(max_size=60),
    st.sampled_from([b"", b"one\ntwo\nthree\n", b"one\r\ntwo\r\n", b"no newline", b"-- a/x\n++ b/y\n"]),
)
TREES = st.dictionaries(NAMES, st.tuples(CONTENTS, st.booleans()), max_size=5)


def git(*args: str, cwd: Path) -> bytes:
    return subprocess.run(["git", *args], cwd=cwd, capture_output=True, check=True).stdout


def commit_tree(root: Path, tree: dict[str, tuple[bytes, bool]]) -> str:
    """Make ``root`` hold exactly what of ``tree`` fits (a name below a file does not); returns git's tree id."""
    for path in [path for path in root.iterdir() if path.name != ".git"]:
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    for name, (content, executable) in tree.items():
        path = root / name
        if path.is_dir() or any(parent.is_file() for parent in path.parents):
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        path.chmod(0o755 if executable else 0o644)
    git("add", "--all", cwd=root)
    return git("write-tree", cwd=root).decode().strip()


@settings(max_examples=40, deadline=None)
@given(old=TREES, new=TREES, option=st.sampled_from(["--no-renames", "-M", "-C", "--binary"]))
def test_the_files_of_a_git_diff_are_the_changed_paths(
    old: dict[str, tuple[bytes, bool]], new: dict[str, tuple[bytes, bool]], option: str
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        git("init", "--quiet", cwd=root)
        trees = commit_tree(root, old), commit_tree(root, new)
        changed = git("diff", "--no-renames", "--name-only", "-z", *trees, cwd=root)
        facts = describe(git("diff", option, *trees, cwd=root))
    copied = {file.raw_old for file in facts.files if file.kind == "copied"}
    named = {name for file in facts.files for name in (file.raw, file.raw_old) if name not in copied}
    assert named | copied == set(filter(None, changed.split(b"\0"))) | copied


@settings(deadline=None)
@given(st.binary(max_size=2000))
def test_any_bytes_are_described(patch: bytes) -> None:
    facts = describe(patch)
    assert facts.files or facts.problems
    "".join(facts.paths + facts.problems).encode("utf-8")


PIECES = st.sampled_from(
    b"""diff --git a/x b/x
diff --git "a/\\303\\251" "b/\\303\\251"
--- a/x
+++ b/x
@@ -1,2 +1 @@
 c
-d
+e

\\ No newline at end of file
GIT binary patch
rename from x
rename to y
new file mode 100644
--- /dev/null
+++ /dev/null
@@ -9999999999 +1 @@
@@@\r
""".splitlines(keepends=True)
)


@settings(deadline=None)
@given(st.lists(PIECES, max_size=30).map(b"".join))
def test_any_order_of_headers_is_described(patch: bytes) -> None:
    facts = describe(patch)
    assert facts.files or facts.problems


@settings(deadline=None)
@given(st.binary(max_size=200))
def test_normalising_adds_one_newline_or_nothing(patch: bytes) -> None:
    done, notes = normalise(patch)
    assert done in (patch, patch + b"\n")
    assert not done or done.endswith(b"\n")
    assert notes == (("final_newline",) if done != patch else ())
    assert normalise(done) == (done, ())


def only(patch: bytes) -> PatchFile:
    facts = describe(patch)
    assert facts.problems == ()
    (file,) = facts.files
    return file


def test_a_plain_diff_without_a_git_header() -> None:
    file = only(b"--- a/x y.py\t2024-01-01\n+++ b/x y.py\t2024-01-02\n@@ -1 +1 @@\n-a\n+b\n")
    assert (file.path, file.kind) == ("x y.py", "modified")


def test_removed_lines_that_look_like_headers_are_content() -> None:
    patch = b"--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n--- a/y\n-@@ -1 +1 @@\n+++ b/y\n+@@\n"
    patch += b"--- a/z\n+++ b/z\n@@ -1 +1 @@\n-a\n+b\n"
    assert describe(patch).paths == ("x", "z")


def test_a_crlf_patch_names_its_files_without_the_carriage_return() -> None:
    patch = b"diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n".replace(b"\n", b"\r\n")
    assert only(patch).path == "x"


def test_quoted_names_are_read_as_git_writes_them() -> None:
    file = only(b'diff --git "a/caf\\303\\251\\t\\".py" "b/caf\\303\\251\\t\\".py"\nold mode 100644\nnew mode 100755\n')
    assert (file.raw, file.kind) == ('caf\u00e9\t".py'.encode(), "mode")


def test_a_name_that_is_no_utf8_keeps_its_bytes() -> None:
    file = only(b'--- "a/\\377.py"\n+++ "b/\\377.py"\n@@ -1 +1 @@\n-a\n+b\n')
    assert file.raw == b"\xff.py"
    assert file.path == "\\xff.py"


def test_renames_and_copies_name_both_ends() -> None:
    patch = b"diff --git a/old n b/new n\nsimilarity index 100%\nrename from old n\nrename to new n\n"
    file = only(patch)
    assert (file.old_path, file.path, file.kind) == ("old n", "new n", "renamed")
    assert only(patch.replace(b"rename", b"copy")).kind == "copied"


def test_an_empty_new_file_has_no_names_but_its_header() -> None:
    file = only(b"diff --git a/e f.py b/e f.py\nnew file mode 100644\nindex 0000000..e69de29\n")
    assert (file.path, file.kind) == ("e f.py", "added")


def test_a_binary_stub_is_told_from_binary_data() -> None:
    stub = describe(b"diff --git a/x.png b/x.png\nindex 1..2 100644\nBinary files a/x.png and b/x.png differ\n")
    assert (stub.files[0].binary, stub.files[0].has_data) == (True, False)
    assert "no content" in stub.problems[0]
    data = only(
        b"diff --git a/x.png b/x.png\nindex 1..2 100644\nGIT binary patch\n"
        b"literal 1\nIcmZQz00962\n\nliteral 0\nHcmV?d00001\n\n"
    )
    assert (data.binary, data.has_data, data.kind) == (True, True, "modified")


@pytest.mark.parametrize(
    ("patch", "words"),
    [
        (b"a plan in prose\n", "no file"),
        (b"--- a/x\n+++ b/x\n@@ -1,7 +1,7 @@\n a\n-b\n+c\n", "shorter than its header"),
        (
            b"--- a/x\n+++ b/x\n@@ -1,9 +1,9 @@\n a\ndiff --git a/y b/y\n--- a/y\n+++ b/y\n@@ -1 +1 @@\n-a\n+b\n",
            "line 5",
        ),
        (b"--- a/x\n+++ b/x\n@@ ... @@\n", "cannot be read"),
        (b"@@ -1 +1 @@\n-a\n+b\n", "without a file"),
        (b"--- a/../../tmp/x\n+++ b/../../tmp/x\n@@ -1 +1 @@\n-a\n+b\n", "outside the tree"),
        (
            b"diff --git a/.git/config b/.git/config\n--- a/.git/config\n+++ b/.git/config\n@@ -1 +1 @@\n-a\n+b\n",
            "outside",
        ),
    ],
)
def test_what_is_wrong_is_named(patch: bytes, words: str) -> None:
    assert any(words in problem for problem in describe(patch).problems)


@pytest.mark.parametrize(
    "path", [b"/etc/passwd", b"../x", b"a/../../x", b".git/hooks/pre-commit", b".GIT/config", b"a//b", b""]
)
def test_paths_outside_the_tree(path: bytes) -> None:
    assert not is_inside(path)


@pytest.mark.shared_data
def test_every_gold_and_test_patch_names_what_git_says(shared_data: Path) -> None:
    """`git apply --numstat` is the other reader; both kinds of patches of all 500 Verified rows."""
    rows = [json.loads(line) for line in gzip.open(shared_data / "rows" / "verified.new.jsonl.gz")]
    patches = [row[key] for row in rows for key in ("patch", "test_patch")]
    whole = "".join(patch if patch.endswith("\n") else patch + "\n" for patch in patches).encode()
    told = subprocess.run(["git", "apply", "--numstat", "-z", "-"], input=whole, capture_output=True, check=True)
    assert [record.split(b"\t")[2] for record in told.stdout.split(b"\0") if record] == [
        file.raw for patch in patches for file in describe(patch.encode()).files
    ]


@pytest.mark.shared_data
def test_every_prediction_found_in_the_wild_is_described(shared_data: Path) -> None:
    seen = 0
    for path in sorted((shared_data / "preds").glob("*.gz")):
        for text in patches_in(gzip.decompress(path.read_bytes())):
            facts = describe(text.encode("utf-8", "surrogatepass"))
            assert facts.files or facts.problems
            seen += 1
    assert seen > 1000


def patches_in(content: bytes) -> list[str]:
    found: list[str] = []

    def collect(value: dict[str, object]) -> dict[str, object]:
        patch = value.get("model_patch")
        if isinstance(patch, str):
            found.append(patch)
        return value

    try:
        json.loads(content, object_hook=collect)
    except ValueError:
        for line in content.split(b"\n"):
            if line.strip():
                json.loads(line, object_hook=collect)
    return found
