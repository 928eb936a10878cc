"""Handlers: they validate and delegate."""
from core import price
from store import orders


def post(request):
    order = request.order()
    order.total_cents = price.total(order.lines)
    return orders.add(order)
