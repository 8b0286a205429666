#!/bin/bash
set -e
cd /app
cat > tests/test_own.py <<'END'
import unittest

import bill


class OwnCase(unittest.TestCase):
    def test_a_cent_too_many(self) -> None:
        self.assertEqual(bill.split(10, 3), [3, 3, 4])
END
git add tests
git commit --quiet --message "Tests of splitting"
