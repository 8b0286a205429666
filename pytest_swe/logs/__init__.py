"""Log parsers: text of a test run -> status of each test."""
