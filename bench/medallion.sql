-- Spark SQL queries of a lakehouse, from landing to platinum. bench/observed_sql.py records their lineage.
-- table customers(id BIGINT, name STRING, email STRING, country STRING, born DATE, changed TIMESTAMP)
-- table orders(id BIGINT, customer_id BIGINT, placed TIMESTAMP, state STRING, amount DECIMAL(12,2), currency STRING)
-- table lines(order_id BIGINT, line INT, product_id BIGINT, quantity INT, price DECIMAL(12,2), discount DECIMAL(4,2))
-- table products(id BIGINT, title STRING, category STRING, cost DECIMAL(12,2), tags ARRAY<STRING>)
-- table rates(currency STRING, day DATE, rate DOUBLE)
-- table visits(visitor STRING, customer_id BIGINT, at TIMESTAMP, page STRING, referrer STRING, details STRUCT<device: STRING, seconds: INT>)
-- table returns(order_id BIGINT, line INT, returned DATE, reason STRING, quantity INT)
-- table regions(country STRING, region STRING)

-- = bronze_customers
SELECT id, trim(name) AS name, lower(email) AS email, upper(country) AS country, born, changed FROM customers
-- = bronze_orders
SELECT id, customer_id, CAST(placed AS DATE) AS day, state, amount, currency FROM orders WHERE state <> 'test'
-- = bronze_lines
SELECT *, quantity * price AS gross FROM lines
-- = bronze_everything
SELECT * FROM products
-- = bronze_constants
SELECT id, 'web' AS channel, current_date() AS loaded, title FROM products
-- = silver_newest_customer
SELECT id, name, email, country FROM (
  SELECT *, row_number() OVER (PARTITION BY id ORDER BY changed DESC) AS place FROM customers
) ranked WHERE place = 1
-- = silver_hashed_customer
SELECT id, sha2(email, 256) AS email_hash, md5(name) AS name_hash, country FROM customers
-- = silver_order_with_customer
SELECT o.id, c.name, c.country, o.amount FROM orders o JOIN customers c ON c.id = o.customer_id
-- = silver_left_joined
SELECT o.id AS order_id, coalesce(c.country, 'unknown') AS country, r.region
FROM orders AS o LEFT JOIN customers AS c ON o.customer_id = c.id LEFT JOIN regions AS r ON r.country = c.country
-- = silver_joined_using
SELECT country, name, region FROM customers JOIN regions USING (country)
-- = silver_in_euro
WITH daily AS (SELECT currency, day, rate FROM rates WHERE rate > 0)
SELECT o.id, o.amount * d.rate AS euro, d.day
FROM orders o JOIN daily d ON d.currency = o.currency AND d.day = CAST(o.placed AS DATE)
-- = silver_state_as_flags
SELECT id, CASE WHEN state = 'paid' THEN amount ELSE 0 END AS paid, if(state = 'open', amount, 0) AS open FROM orders
-- = silver_valid_orders
SELECT id, amount FROM orders WHERE customer_id IN (SELECT id FROM customers WHERE country = 'DE')
-- = silver_not_returned
SELECT l.order_id, l.line, l.price FROM lines l
WHERE NOT EXISTS (SELECT 1 FROM returns r WHERE r.order_id = l.order_id AND r.line = l.line)
-- = silver_anti_joined
SELECT o.id, o.placed FROM orders o LEFT ANTI JOIN returns r ON r.order_id = o.id
-- = silver_semi_joined
SELECT c.id, c.email FROM customers c LEFT SEMI JOIN orders o ON o.customer_id = c.id
-- = silver_tags
SELECT id, title, tag FROM products LATERAL VIEW explode(tags) exploded AS tag
-- = silver_devices
SELECT visitor, details.device AS device, details.seconds / 60 AS minutes FROM visits
-- = silver_struct
SELECT id, named_struct('name', name, 'email', email) AS person FROM customers
-- = silver_distinct
SELECT DISTINCT country, currency FROM orders JOIN customers ON customers.id = orders.customer_id
-- = silver_union
SELECT id AS ref, amount AS value FROM orders UNION ALL SELECT order_id, price * quantity FROM lines
-- = silver_union_distinct
SELECT country FROM customers UNION SELECT country FROM regions
-- = silver_except
SELECT id FROM orders EXCEPT SELECT order_id FROM returns
-- = silver_intersect
SELECT country FROM customers INTERSECT SELECT country FROM regions
-- = silver_dates
SELECT id, year(placed) AS y, date_format(placed, 'yyyy-MM') AS month, datediff(current_date(), CAST(placed AS DATE)) AS age FROM orders
-- = silver_text
SELECT id, concat_ws(' ', name, country) AS label, substring(email, 1, 3) AS start, split(email, '@')[1] AS domain FROM customers
-- = gold_revenue
SELECT customer_id, sum(amount) AS revenue, count(*) AS orders, max(placed) AS latest FROM orders GROUP BY customer_id
-- = gold_revenue_by_region
SELECT r.region, sum(o.amount) AS revenue, count(DISTINCT c.id) AS customers
FROM orders o JOIN customers c ON c.id = o.customer_id JOIN regions r ON r.country = c.country
GROUP BY r.region HAVING sum(o.amount) > 100
-- = gold_margin
WITH sold AS (SELECT product_id, sum(quantity) AS pieces, sum(quantity * price * (1 - discount)) AS net FROM lines GROUP BY product_id),
costs AS (SELECT id, title, cost FROM products)
SELECT c.title, s.net - s.pieces * c.cost AS margin, s.net FROM sold s JOIN costs c ON c.id = s.product_id
-- = gold_running_total
SELECT customer_id, placed, sum(amount) OVER (PARTITION BY customer_id ORDER BY placed) AS so_far FROM orders
-- = gold_before
SELECT id, lag(amount) OVER (PARTITION BY customer_id ORDER BY placed) AS before, amount FROM orders
-- = gold_share
SELECT id, amount / sum(amount) OVER (PARTITION BY currency) AS share FROM orders
-- = gold_ranked_products
SELECT category, title, place FROM (
  SELECT p.category, p.title, rank() OVER (PARTITION BY p.category ORDER BY sum(l.quantity) DESC) AS place
  FROM products p JOIN lines l ON l.product_id = p.id GROUP BY p.category, p.title
) t WHERE place <= 10
-- = gold_cube
SELECT category, currency, sum(price) AS total FROM lines JOIN products ON products.id = product_id JOIN orders ON orders.id = order_id
GROUP BY CUBE (category, currency)
-- = gold_rollup
SELECT region, customers.country, count(email) AS reachable FROM customers JOIN regions ON regions.country = customers.country
GROUP BY ROLLUP (region, customers.country)
-- = gold_filtered_sums
SELECT customer_id, sum(amount) FILTER (WHERE state = 'paid') AS paid, avg(amount) AS mean FROM orders GROUP BY customer_id
-- = gold_return_rate
SELECT p.category, sum(coalesce(r.quantity, 0)) / sum(l.quantity) AS rate
FROM lines l JOIN products p ON p.id = l.product_id LEFT JOIN returns r ON r.order_id = l.order_id AND r.line = l.line
GROUP BY p.category
-- = gold_biggest_order
SELECT c.name, (SELECT max(o.amount) FROM orders o WHERE o.customer_id = c.id) AS biggest FROM customers c
-- = gold_above_average
SELECT id, amount FROM orders WHERE amount > (SELECT avg(amount) FROM orders)
-- = gold_collected
SELECT customer_id, collect_set(state) AS states, max_by(state, placed) AS newest FROM orders GROUP BY customer_id
-- = gold_sessions
SELECT customer_id, count(*) AS views, sum(details.seconds) AS seconds, min(at) AS first FROM visits WHERE referrer IS NOT NULL GROUP BY customer_id
-- = platinum_customer
WITH spent AS (SELECT customer_id, sum(amount) AS total FROM orders GROUP BY customer_id),
seen AS (SELECT customer_id, max(at) AS last_seen FROM visits GROUP BY customer_id)
SELECT c.id, sha2(c.email, 256) AS who, s.total, v.last_seen, CASE WHEN s.total > 1000 THEN 'gold' ELSE 'plain' END AS class
FROM customers c LEFT JOIN spent s ON s.customer_id = c.id LEFT JOIN seen v ON v.customer_id = c.id
-- = platinum_mailing
SELECT name, email FROM customers WHERE country = 'DE' ORDER BY name
-- = platinum_top
SELECT title, sum(quantity) AS sold FROM lines JOIN products ON products.id = lines.product_id GROUP BY title ORDER BY sold DESC LIMIT 10
-- = platinum_growth
WITH monthly AS (SELECT trunc(placed, 'MM') AS month, sum(amount) AS total FROM orders GROUP BY trunc(placed, 'MM'))
SELECT now.month, now.total, now.total - past.total AS growth
FROM monthly now LEFT JOIN monthly past ON past.month = add_months(now.month, -1)
-- = platinum_cohorts
SELECT f.cohort, count(DISTINCT o.customer_id) AS buyers, sum(o.amount) AS spent
FROM (SELECT customer_id, min(placed) AS cohort FROM orders GROUP BY customer_id) f JOIN orders o ON o.customer_id = f.customer_id
GROUP BY f.cohort
-- = platinum_crossed
SELECT c.country, p.category FROM customers c CROSS JOIN products p
-- = platinum_nested
SELECT region, best FROM (SELECT region, max(total) AS best FROM (
  SELECT r.region, c.id, sum(o.amount) AS total FROM orders o JOIN customers c ON c.id = o.customer_id JOIN regions r ON r.country = c.country GROUP BY r.region, c.id
) each_one GROUP BY region) best_ones
