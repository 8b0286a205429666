"""Restaurant bills. Amounts are whole cents."""


def total(items: dict[str, int], tip_percent: int = 0) -> int:
    """What a table has to pay; a tip is rounded down."""
    amount = sum(items.values())
    return amount + amount * tip_percent // 100


def shown(cents: int) -> str:
    """An amount for people."""
    return f"{cents // 100}.{cents % 100:02d}"
