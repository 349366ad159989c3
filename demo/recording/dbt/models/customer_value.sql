select
    customers.customer_id,
    customers.email_hash,
    sum(orders.amount) as spent,
    max(orders.ordered_on) as last_order
from {{ ref('dim_customers') }} as customers
left join {{ source('lakehouse', 'orders') }} as orders on orders.customer_id = customers.customer_id
group by customers.customer_id, customers.email_hash
