select
    value.customer_id,
    customers.email as contact,
    'Dear ' || customers.name as greeting
from {{ ref('customer_value') }} as value
join {{ source('lakehouse', 'customers') }} as customers on customers.customer_id = value.customer_id
where value.spent > 100
