"""The rules of benchmark families. ``base`` is the contract; one file per family."""
