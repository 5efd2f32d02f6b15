-- The sample shop: a tea seller with a year of orders, made by arithmetic so
-- that it is the same everywhere.
BEGIN;
CREATE TABLE customer (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL,
  city TEXT NOT NULL,
  since TEXT NOT NULL
);
CREATE TABLE product (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  kind TEXT NOT NULL CHECK (kind IN ('green', 'black', 'oolong', 'herbal', 'ware')),
  price_cents INTEGER NOT NULL CHECK (price_cents > 0),
  stock INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE purchase (
  id INTEGER PRIMARY KEY,
  customer_id INTEGER NOT NULL REFERENCES customer (id),
  ordered_on TEXT NOT NULL,
  status TEXT NOT NULL DEFAULT 'paid' CHECK (status IN ('open', 'paid', 'sent', 'returned'))
);
CREATE TABLE purchase_line (
  purchase_id INTEGER NOT NULL REFERENCES purchase (id),
  product_id INTEGER NOT NULL REFERENCES product (id),
  quantity INTEGER NOT NULL CHECK (quantity > 0),
  PRIMARY KEY (purchase_id, product_id)
);
CREATE INDEX purchase_by_customer ON purchase (customer_id);
CREATE INDEX purchase_by_day ON purchase (ordered_on);
CREATE VIEW revenue_by_month AS
  SELECT substr(ordered_on, 1, 7) AS month, SUM(quantity * price_cents) / 100.0 AS revenue, COUNT(DISTINCT purchase.id) AS orders
  FROM purchase JOIN purchase_line ON purchase_id = purchase.id JOIN product ON product_id = product.id
  WHERE status <> 'returned' GROUP BY 1;

INSERT INTO customer (id, name, city, since) VALUES
  (1, 'Ada Byron', 'London', '2024-03-01'), (2, 'Grace Murray', 'New York', '2024-03-12'),
  (3, 'Emmy Noether', 'Erlangen', '2024-04-02'), (4, 'Srinivasa Iyengar', 'Chennai', '2024-05-21'),
  (5, 'Sofja Korvin', 'Stockholm', '2024-06-30'), (6, 'Hedy Kiesler', 'Vienna', '2024-07-14'),
  (7, 'Alan Mathison', 'Manchester', '2024-08-08'), (8, 'Maryam Mirza', 'Tehran', '2024-09-19'),
  (9, 'Katherine Coleman', 'Hampton', '2024-10-03'), (10, 'Chen Ning', 'Hefei', '2024-11-27'),
  (11, 'Rosalind Elsie', 'London', '2025-01-06'), (12, 'Niels Henrik', 'Oslo', '2025-02-18');

INSERT INTO product (id, name, kind, price_cents, stock) VALUES
  (1, 'Sencha', 'green', 890, 120), (2, 'Gyokuro', 'green', 2490, 18), (3, 'Matcha', 'green', 1990, 42),
  (4, 'Darjeeling First Flush', 'black', 1450, 64), (5, 'Assam', 'black', 790, 210), (6, 'Lapsang Souchong', 'black', 1120, 37),
  (7, 'Tieguanyin', 'oolong', 1690, 25), (8, 'Dong Ding', 'oolong', 1840, 0), (9, 'Rooibos', 'herbal', 640, 150),
  (10, 'Camomile', 'herbal', 520, 88), (11, 'Peppermint', 'herbal', 480, 95), (12, 'Teapot, cast iron', 'ware', 6900, 7),
  (13, 'Cup, porcelain', 'ware', 1250, 31), (14, 'Strainer', 'ware', 350, 76);

WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 480)
INSERT INTO purchase (id, customer_id, ordered_on, status)
  SELECT i, 1 + (i * 7 + i / 5) % 12, date('2025-11-01', '+' || ((i * 3) / 4) || ' days'),
    CASE WHEN i > 470 THEN 'open' WHEN i % 29 = 0 THEN 'returned' WHEN i > 455 THEN 'paid' ELSE 'sent' END
  FROM n;

WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 480), k(j) AS (VALUES (0), (1), (2))
INSERT OR IGNORE INTO purchase_line (purchase_id, product_id, quantity)
  SELECT i, 1 + (i * 5 + j * 11 + i / 7) % 14, 1 + (i + j * 3) % 4 FROM n, k WHERE j <= i % 3;
COMMIT;
