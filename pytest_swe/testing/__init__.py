"""For authors of providers and harnesses: `pytest_swe.testing.conformance` is the provider contract as tests."""

import pytest

pytest.register_assert_rewrite("pytest_swe.testing.conformance")
