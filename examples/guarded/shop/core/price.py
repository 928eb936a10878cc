"""Prices, in cents."""


def total(lines):
    return sum(line.quantity * line.price_cents for line in lines)
