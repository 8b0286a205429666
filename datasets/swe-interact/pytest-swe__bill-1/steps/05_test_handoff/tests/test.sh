#!/bin/bash
# A clean tree, the work in one or more commits, tests of its own in later ones. Hidden tests judge the work without those.
worth() {
  echo "$2"
  echo "$1" > /logs/verifier/reward.txt
  exit 0
}

cd /app || worth 0 "/app is gone"
[ -z "$(git status --porcelain)" ] || worth 0 "something is not committed"
base=$(git rev-list --max-parents=0 HEAD | tail -n 1)
work=$(git log -1 --format=%H "$base"..HEAD -- . ':(exclude)tests')
[ -n "$work" ] || worth 0 "nothing but tests was committed"
[ "$(git rev-list --count "$work"..HEAD)" -gt 0 ] || worth 0 "no tests were committed after the work"

rm -rf /tmp/judged && mkdir /tmp/judged
git archive "$work" | tar -x -C /tmp/judged
rm -rf /tmp/judged/tests
git archive "$base" tests | tar -x -C /tmp/judged
cd /tmp/judged && git apply /tests/test.patch || worth 0 "the hidden tests could not be laid in"

timeout 120 python3 -m unittest -v tests.test_bill tests.test_split > /tmp/judged.txt 2>&1 < /dev/null
status=$?
cat /tmp/judged.txt
[ "$status" = 0 ] && grep -q '^Ran 7 tests' /tmp/judged.txt || worth 0 "the tests fail"
worth 1 "the tests pass"
