"""Predictions in every shape, patches byte for byte, and one rule for each oddity."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest
import zstandard

from pytest_swe.dataset.predictions import Duplicates, Predictions, match, read_predictions
from pytest_swe.errors import PredictionInvalid, UsageError

Entries = Sequence[Mapping[str, object]]

PATCH = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n"
ENTRIES: Entries = [
    {"instance_id": "a-1", "model_name_or_path": "m/1", "model_patch": PATCH},
    {"instance_id": "a-2", "model_name_or_path": "m/1", "model_patch": "\r\n \u2028é"},
    {"instance_id": "a-3", "model_name_or_path": "m/1", "model_patch": None},
]


def _jsonl(entries: Entries) -> bytes:
    return "".join(json.dumps(entry, ensure_ascii=False) + "\n" for entry in entries).encode()


def _dict(entries: Entries, indent: int | None = None, *, inside: bool = True) -> bytes:
    found = {e["instance_id"]: {k: v for k, v in e.items() if inside or k != "instance_id"} for e in entries}
    return json.dumps(found, indent=indent).encode()


SHAPES: Mapping[str, Callable[[Entries], bytes]] = {
    "jsonl": _jsonl,
    "bom": lambda entries: b"\xef\xbb\xbf" + _jsonl(entries),
    "crlf": lambda entries: _jsonl(entries).replace(b"}\n", b"}\r\n"),
    "blank-lines": lambda entries: b"\n" + _jsonl(entries).replace(b"}\n", b"}\n\n \n"),
    "list": lambda entries: json.dumps(entries).encode(),
    "indented-list": lambda entries: json.dumps(entries, indent=2).encode(),
    "dict": _dict,
    "indented-dict": lambda entries: _dict(entries, 4),
    "dict-ids-outside": lambda entries: _dict(entries, inside=False),
    "gzip": lambda entries: gzip.compress(_jsonl(entries)),
    "gzip-dict": lambda entries: gzip.compress(_dict(entries)),
    "zstd": lambda entries: zstandard.compress(_jsonl(entries)),
}


def _read(tmp_path: Path, content: bytes, name: str = "preds.jsonl", duplicates: Duplicates = "error") -> Predictions:
    path = tmp_path / name
    path.write_bytes(content)
    return read_predictions(path, duplicates)


def _one(tmp_path: Path, patch: object) -> Predictions:
    entry = {"instance_id": "a-1", "model_name_or_path": "m", "model_patch": patch}
    return _read(tmp_path, json.dumps(entry).encode() + b"\n")


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", ["preds.jsonl", "preds.json"])
def test_every_shape_gives_the_same_predictions(tmp_path: Path, shape: str, name: str) -> None:
    found = _read(tmp_path, SHAPES[shape](ENTRIES), name)
    assert [(ref.instance_id, ref.model, ref.kind) for ref in found.refs] == [
        ("a-1", "m/1", "patch"),
        ("a-2", "m/1", "patch"),
        ("a-3", "m/1", "empty"),
    ]
    assert [found.patch(ref) for ref in found.refs] == [PATCH.encode(), "\r\n \u2028é".encode(), b""]
    assert (found.problems, found.notes) == ((), ())


def test_a_dict_of_diffs(tmp_path: Path) -> None:
    found = _read(tmp_path, json.dumps({"a-1": PATCH, "a-2": "", "a-3": None, "a-4": 5}).encode(), "gpt.json")
    assert [(ref.instance_id, ref.model, ref.kind) for ref in found.refs] == [
        ("a-1", "gpt", "patch"),
        ("a-2", "gpt", "empty"),
        ("a-3", "gpt", "empty"),
        ("a-4", "gpt", "bad"),
    ]
    assert found.patch(found.refs[0]) == PATCH.encode()


@pytest.mark.parametrize("indent", [None, 2])
def test_a_single_object(tmp_path: Path, indent: int | None) -> None:
    found = _read(tmp_path, json.dumps(ENTRIES[0], indent=indent).encode())
    assert [(ref.instance_id, ref.kind) for ref in found.refs] == [("a-1", "patch")]


def test_a_directory_of_patches(tmp_path: Path) -> None:
    place = tmp_path / "my-model"
    place.mkdir()
    for name, content in {
        "b-2.diff": b"caf\xe9\r\n",
        "a-1.patch": PATCH.encode(),
        "c-3.patch": b" \n",
        "d::4.patch": b"x",
        "README.md": b"x",
    }.items():
        (place / name).write_bytes(content)
    (place / "e-5.patch").mkdir()
    found = read_predictions(place)
    assert [(ref.instance_id, ref.model, ref.kind) for ref in found.refs] == [
        ("a-1", "my-model", "patch"),
        ("b-2", "my-model", "patch"),
        ("c-3", "my-model", "empty"),
    ]
    assert [found.patch(ref) for ref in found.refs] == [PATCH.encode(), b"caf\xe9\r\n", b""]
    assert len(found.problems) == 1
    assert "'d::4'" in found.problems[0]


@pytest.mark.parametrize(
    ("text", "raw"),
    [
        ("a\r\nb\r\n", b"a\r\nb\r\n"),
        ("no final newline", b"no final newline"),
        ("\ndiff", b"\ndiff"),
        ("GIT binary patch\nliteral 4\nLc${NkU|;|M00aO5\n\n", b"GIT binary patch\nliteral 4\nLc${NkU|;|M00aO5\n\n"),
        ("\u2028\u0085\x0b\x0c\x00\ufeff", "\u2028\u0085\x0b\x0c\x00\ufeff".encode()),
        ("\ud800", b"\xed\xa0\x80"),
        ("caf\udce9", b"caf\xe9"),
        ("\ud83d\ude00", "\U0001f600".encode()),
    ],
)
@pytest.mark.parametrize("shape", ["line", "document"])
def test_patches_keep_their_bytes(tmp_path: Path, text: str, raw: bytes, shape: str) -> None:
    entry = {"instance_id": "a-1", "model_name_or_path": "m", "model_patch": text}
    content = json.dumps(entry if shape == "line" else [entry, {**entry, "instance_id": "a-2"}]).encode()
    found = _read(tmp_path, content)
    assert {found.patch(ref) for ref in found.refs} == {raw}


@pytest.mark.parametrize("shape", ["line", "list"])
def test_bytes_that_are_no_utf8_are_kept(tmp_path: Path, shape: str) -> None:
    line = b'{"instance_id": "a-1", "model_name_or_path": "m", "model_patch": "caf\xe9 \xff \\u00e9"}'
    found = _read(tmp_path, line if shape == "line" else b"[" + line + b"]")
    assert found.patch(found.refs[0]) == b"caf\xe9 \xff \xc3\xa9"


def test_ten_mebibytes(tmp_path: Path) -> None:
    text = "+é\n" * (10 * 1024 * 1024 // 4)
    found = _one(tmp_path, text)
    assert found.patch(found.refs[0]) == text.encode()
    assert found.refs[0].length > len(text)


@pytest.mark.parametrize("patch", [None, "", " ", "\n", "\r\n\t ", float("nan")])
def test_null_empty_and_blank_are_empty(tmp_path: Path, patch: object) -> None:
    found = _one(tmp_path, patch)
    assert [ref.kind for ref in found.refs] == ["empty"]
    assert found.patch(found.refs[0]) == b""


@pytest.mark.parametrize(
    ("patch", "kind"),
    [([], "a list"), ({"patch": "x"}, "an object"), (5, "a number"), (True, "a boolean"), (["x"], "a list")],
)
def test_a_patch_that_is_no_text_is_bad(tmp_path: Path, patch: object, kind: str) -> None:
    found = _one(tmp_path, patch)
    assert [(ref.instance_id, ref.kind) for ref in found.refs] == [("a-1", "bad")]
    assert found.refs[0].problem == f"{found.path}:1: model_patch: expected a string, got {kind}"
    with pytest.raises(PredictionInvalid, match="expected a string"):
        found.patch(found.refs[0])


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (b"oops", "not JSON: "),
        (b"{", "not JSON: "),
        (b"[1]", "expected an object, got a list"),
        (b"null", "expected an object, got null"),
        (b'{"model_patch": "x"}', "instance_id: expected a string, the row has none (its keys: model_patch)"),
        (b'{"instance_id": null, "model_patch": "x"}', "instance_id: expected a string, got null"),
        (b'{"instance_id": "", "model_patch": "x"}', "instance_id: expected a name, got a blank string"),
        (b'{"instance_id": "a\\n", "model_patch": "x"}', "control or invisible"),
        (b'{"a": ' * 5000, "nested too deeply"),
        (b"\xfe", "not JSON: "),
    ],
)
@pytest.mark.parametrize("place", [0, 1, 3])
def test_a_line_about_nobody_is_a_problem_and_costs_no_other(
    tmp_path: Path, line: bytes, problem: str, place: int
) -> None:
    lines = _jsonl(ENTRIES).splitlines()
    lines.insert(place, line)
    found = _read(tmp_path, b"\n".join(lines))
    assert [ref.instance_id for ref in found.refs] == ["a-1", "a-2", "a-3"]
    assert {ref.model for ref in found.refs} == {"m/1"}
    assert len(found.problems) == 1
    assert found.problems[0].startswith(f"{found.path}:{place + 1}: ")
    assert problem in found.problems[0]
    assert "\n" not in found.problems[0]


def test_a_torn_line_costs_its_instance_only(tmp_path: Path) -> None:
    found = _read(tmp_path, _jsonl(ENTRIES) + b'{"instance_id": "a-4", "model_name_or_path": "m/1", "model_patch": "di')
    assert [(ref.instance_id, ref.model, ref.kind) for ref in found.refs[3:]] == [("a-4", "m/1", "bad")]
    found = _read(tmp_path, _jsonl(ENTRIES) + b'{"instance_id": "a-4", "model_na')
    assert [(ref.instance_id, ref.model, ref.kind) for ref in found.refs[3:]] == [("a-4", "m/1", "bad")]


def test_a_prediction_without_a_patch_is_bad(tmp_path: Path) -> None:
    found = _read(tmp_path, b'{"instance_id": "a-1", "prediction": "x"}\n{"instance_id": "a-2", "model_patch": "x"}\n')
    assert [ref.kind for ref in found.refs] == ["bad", "patch"]
    assert "model_patch: expected a string, the entry has none (its keys: instance_id, prediction)" in (
        found.refs[0].problem
    )


def test_patch_stands_in_for_model_patch_but_a_reference_fix_never_does(tmp_path: Path) -> None:
    entry = {"instance_id": "a-1", "patch": PATCH}
    found = _read(tmp_path, _jsonl([entry, {**entry, "instance_id": "a-2", "base_commit": "0"}]))
    assert [ref.kind for ref in found.refs] == ["patch", "bad"]
    assert found.patch(found.refs[0]) == PATCH.encode()
    assert "--swe-preds gold" in found.refs[1].problem
    found = _read(tmp_path, _jsonl([{**entry, "model_patch": "mine", "base_commit": "0"}]))
    assert found.patch(found.refs[0]) == b"mine"


@pytest.mark.parametrize("model", [None, "", " ", 5])
def test_a_missing_model_is_the_file_and_noted(tmp_path: Path, model: object) -> None:
    entry = {"instance_id": "a-1", "model_patch": "x", "model_name_or_path": model}
    found = _read(tmp_path, gzip.compress(_jsonl([entry, {**ENTRIES[1]}])), "gpt.v2.jsonl.gz")
    assert [ref.model for ref in found.refs] == ["gpt.v2", "m/1"]
    assert found.notes == (f"{found.path}: 1 predictions without a model are called 'gpt.v2'",)


def test_a_model_that_cannot_travel_is_made_to(tmp_path: Path) -> None:
    content = rb'{"instance_id": "a-1", "model_name_or_path": "m\ud800\n[1m]", "model_patch": "x"}' + b"\n"
    assert [ref.model for ref in _read(tmp_path, content).refs] == ["m__[1m]"]


REPEATED: Entries = [
    {"instance_id": "a-1", "model_name_or_path": "m", "model_patch": "one"},
    {"instance_id": "a-2", "model_name_or_path": "m", "model_patch": "two"},
    {"instance_id": "a-1", "model_name_or_path": "m", "model_patch": ""},
    {"instance_id": "a-1", "model_name_or_path": "other", "model_patch": "four"},
    {"instance_id": "a-1", "model_name_or_path": "m", "model_patch": "five"},
]


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("error", [("a-1", "m", 1, "bad"), ("a-2", "m", 1, "patch"), ("a-1", "other", 1, "patch")]),
        ("first", [("a-1", "m", 1, "patch"), ("a-2", "m", 1, "patch"), ("a-1", "other", 1, "patch")]),
        ("last", [("a-2", "m", 1, "patch"), ("a-1", "other", 1, "patch"), ("a-1", "m", 1, "patch")]),
        (
            "all",
            [
                ("a-1", "m", 1, "patch"),
                ("a-2", "m", 1, "patch"),
                ("a-1", "m", 2, "empty"),
                ("a-1", "other", 1, "patch"),
                ("a-1", "m", 3, "patch"),
            ],
        ),
    ],
)
def test_duplicates(tmp_path: Path, rule: Duplicates, expected: list[tuple[str, str, int, str]]) -> None:
    found = _read(tmp_path, _jsonl(REPEATED), duplicates=rule)
    assert [(ref.instance_id, ref.model, ref.number, ref.kind) for ref in found.refs] == expected
    patches = {ref.line: found.patch(ref) for ref in found.refs if ref.kind != "bad"}
    all_of_them = {1: b"one", 2: b"two", 3: b"", 4: b"four", 5: b"five"}
    assert patches == {line: all_of_them[line] for line in patches}
    if rule == "error":
        assert "3 predictions of m for a-1 (lines 1, 3, 5)" in found.refs[0].problem
        assert "--swe-duplicates" in found.refs[0].problem
    left_out = {"first": "2 repeated predictions left out, the first", "last": "2 repeated predictions left out, the"}
    assert [left_out.get(rule, "nothing") in note for note in found.notes] == [True] * len(found.notes)
    assert len(found.notes) == (rule in left_out)


def test_predictions_of_an_instance(tmp_path: Path) -> None:
    found = _read(tmp_path, _jsonl(REPEATED), duplicates="all")
    assert [ref.line for ref in found.of("a-1")] == [1, 3, 4, 5]
    assert found.of("none") == ()


@pytest.mark.parametrize(
    ("instance_id", "suggestion"),
    [
        ("django__django-11099 ", "django__django-11099"),
        (" django__django-11099", "django__django-11099"),
        ("Django__django-11099", "django__django-11099"),
        ("django/django-11099", "django__django-11099"),
        ("django_1776_django-11099", "django__django-11099"),
        ("djanga__django-11099", "django__django-11099"),
        ("django__django-1109", ""),
        ("quite__other-1", ""),
    ],
)
def test_near_misses_are_suggested_never_folded(tmp_path: Path, instance_id: str, suggestion: str) -> None:
    found = _read(tmp_path, _jsonl([{"instance_id": instance_id, "model_patch": "x"}]))
    assert [ref.instance_id for ref in found.refs] == [instance_id]
    unmatched = match(found, ["django__django-11099", "sympy__sympy-1"])
    assert [u.suggestion for u in unmatched] == [suggestion]
    assert repr(instance_id) in str(unmatched[0])
    assert ("did you mean" in str(unmatched[0])) is bool(suggestion)


def test_known_ids_match(tmp_path: Path) -> None:
    assert match(_read(tmp_path, _jsonl(ENTRIES)), ["a-1", "a-2", "a-3"]) == ()


@pytest.mark.parametrize("content", [b"", b"[]", b"{}", b"\n \n", b"\xef\xbb\xbf\n"])
def test_no_predictions_is_a_note(tmp_path: Path, content: bytes) -> None:
    found = _read(tmp_path, content)
    assert found.refs == ()
    assert found.notes == (f"{found.path}: no predictions in it",)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (PATCH.encode(), "not a predictions file"),
        (b"\x89PNG\x00", "not a predictions file"),
        (b'[\n{"a": 1},\n', "not JSON: "),
        (gzip.compress(b'[\n{"a": 1},\n'), "not JSON: "),
        (gzip.compress(_jsonl(ENTRIES) * 99)[:-9], "damaged or cut off"),
        (b"PAR1", "not a predictions file"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 5\n", "git-lfs pointer"),
        ('{"a-1": ""}'.encode("utf-16"), "UTF-16 text"),
    ],
    ids=lambda value: value if isinstance(value, str) else "is",  # gzip writes the time: no id for xdist
)
def test_what_cannot_be_read_at_all_is_said_in_one_line(tmp_path: Path, content: bytes, message: str) -> None:
    with pytest.raises(UsageError, match=message) as refused:
        _read(tmp_path, content)
    assert str(tmp_path / "preds.jsonl") in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_missing_file_names_a_near_one(tmp_path: Path) -> None:
    (tmp_path / "preds.jsonl").write_bytes(_jsonl(ENTRIES))
    with pytest.raises(UsageError, match=r"no such predictions file: did you mean 'preds\.jsonl'"):
        read_predictions(tmp_path / "pred.jsonl")
    with pytest.raises(UsageError, match="no such predictions file"):
        read_predictions(tmp_path / "none" / "x")
    with pytest.raises(UsageError, match="not a predictions file"):
        read_predictions("/dev/zero")


def test_a_file_that_changes_under_a_run_is_noticed(tmp_path: Path) -> None:
    found = _read(tmp_path, _jsonl(ENTRIES))
    (tmp_path / "preds.jsonl").write_bytes(_jsonl(ENTRIES).replace(b"+b", b"+c"))
    with pytest.raises(PredictionInvalid, match="changed while it was in use"):
        found.patch(found.refs[0])
    (tmp_path / "preds.jsonl").unlink()
    with pytest.raises(PredictionInvalid, match="No such file"):
        found.patch(found.refs[0])


@pytest.mark.shared_data
def test_every_public_file_reads_with_its_known_counts(shared_data: Path) -> None:
    lines = (shared_data / "preds" / "index.jsonl").read_text().splitlines()
    assert len(lines) == 42
    for line in lines:
        facts = json.loads(line)
        found = read_predictions(shared_data / "preds" / f"{facts['file']}.gz", duplicates="all")
        kinds = Counter(ref.kind for ref in found.refs)
        ids = [ref.instance_id for ref in found.refs]
        assert (found.problems, len(ids), len(ids) - len(set(ids))) == ((), facts["n"], facts["dups"]), facts["file"]
        if facts["pk"] == "patch":
            assert kinds == {"bad": facts["n"]}, facts["file"]  # data set rows: their patch is the reference fix
            continue
        assert kinds["bad"] == facts["nonstr"], facts["file"]
        assert kinds["empty"] == facts["none"] + facts["empty"] + facts["blank"], facts["file"]
        patches = [found.patch(ref) for ref in found.refs if ref.kind == "patch"]
        assert sum(not patch.endswith(b"\n") for patch in patches) == facts["nonl"], facts["file"]
        assert sum(b"\r\n" in patch for patch in patches) == facts["crlf"], facts["file"]
