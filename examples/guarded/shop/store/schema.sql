CREATE TABLE orders (
    id INTEGER PRIMARY KEY,
    total_cents INTEGER NOT NULL
);
CREATE TABLE lines (
    order_id INTEGER NOT NULL REFERENCES orders (id),
    quantity INTEGER NOT NULL,
    price_cents INTEGER NOT NULL
);
