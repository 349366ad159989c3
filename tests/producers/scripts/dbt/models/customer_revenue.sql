with revenue as (
    select customer_id, sum(amount) as total
    from {{ ref('stg_orders') }}
    group by customer_id
)

select
    customers.customer_id,
    customers.full_name,
    md5(customers.email) as email_hash,
    revenue.total as revenue
from {{ ref('stg_customers') }} as customers
left join revenue on revenue.customer_id = customers.customer_id
