select
    customers.customer_id,
    customers.full_name,
    sum(orders.amount) as revenue
from {{ ref('stg_customers') }} as customers
left join {{ ref('stg_orders') }} as orders on orders.customer_id = customers.customer_id
group by customers.customer_id, customers.full_name
