select
    currency,
    rate
from {{ source('finance', 'rates') }}
