import sys

sys.path.insert(0, "/app")
from total import total

for numbers, expected in (([1, 2, 3], 6), ([], 0), ([5], 5)):
    if total(numbers) != expected:
        sys.exit(f"total({numbers}) is {total(numbers)}, not {expected}")
