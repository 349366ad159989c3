select
    category,
    sum(quantity * cast(unit_price as double)) as stock_value
from {{ source('lakehouse', 'stock') }}
group by category
