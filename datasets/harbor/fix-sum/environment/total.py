def total(numbers):
    return sum(numbers[:-1])
