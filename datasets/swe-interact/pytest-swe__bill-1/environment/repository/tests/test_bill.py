import unittest

import bill


class TotalCase(unittest.TestCase):
    def test_items_are_added(self) -> None:
        self.assertEqual(bill.total({"soup": 450, "bread": 120}), 570)

    def test_a_tip_is_rounded_down(self) -> None:
        self.assertEqual(bill.total({"tea": 199}, tip_percent=10), 218)

    def test_cents_have_two_digits(self) -> None:
        self.assertEqual(bill.shown(1205), "12.05")
