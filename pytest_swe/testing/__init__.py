"""For authors of providers and harnesses: `pytest_swe.testing.conformance` is the provider contract as tests."""
