select
    customers.region,
    date_trunc('month', orders.ordered_on) as month,
    sum(orders.amount) as revenue,
    count(distinct orders.order_id) as orders
from {{ source('lakehouse', 'orders') }} as orders
join {{ ref('dim_customers') }} as customers on customers.customer_id = orders.customer_id
group by customers.region, date_trunc('month', orders.ordered_on)
