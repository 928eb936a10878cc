"""The one place that talks to the database."""
import sqlite3


def add(order):
    with sqlite3.connect("shop.db") as db:
        db.execute("INSERT INTO orders (total_cents) VALUES (?)", (order.total_cents,))
    return order
