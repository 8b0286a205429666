"""Where rows and predictions come from. ``base`` is the contract; one file per format."""
