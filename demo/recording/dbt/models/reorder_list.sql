select category
from {{ ref('stock_value') }}
where stock_value < 1000
