select distinct country
from {{ ref('stg_customers') }}
