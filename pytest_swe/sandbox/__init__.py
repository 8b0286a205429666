"""Where candidates run. ``base`` is the contract; one file per provider; reach them through `pytest_swe.registry`."""
