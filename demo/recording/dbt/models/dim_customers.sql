select
    customer_id,
    name,
    md5(email) as email_hash,
    region
from {{ source('lakehouse', 'customers') }}
