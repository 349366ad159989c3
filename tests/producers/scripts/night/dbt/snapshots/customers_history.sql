{% snapshot customers_history %}
{{ config(target_schema='main', unique_key='customer_id', strategy='check', check_cols='all') }}
select * from {{ ref('stg_customers') }}
{% endsnapshot %}
