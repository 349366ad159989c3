"""The known names that are suggested for an unknown one."""

import pytest

from headwater.common.nearest_names import nearest_names

NAMES = (
    "abfss://lake@account/gold/customer_orders",
    "postgres://db:5432/crm.customers.customer_email",
    "postgres://db:5432/crm.customers.email_verified",
    "postgres://db:5432/crm.Suppliers",
    "s3://lake/bronze/orders_daily",
    "s3://lake/silver/orders_daily",
    "s3://lake/silver/dimProductPrice",
    "load_orders",
)


@pytest.mark.parametrize(
    ("asked", "first"),
    [
        ("custmer_email", "postgres://db:5432/crm.customers.customer_email"),
        ("customeremail", "postgres://db:5432/crm.customers.customer_email"),
        ("customers.custmer_email", "postgres://db:5432/crm.customers.customer_email"),
        ("customers/custmer_email", "postgres://db:5432/crm.customers.customer_email"),
        ("orders_dialy", "s3://lake/bronze/orders_daily"),
        ("silver/orders_dialy", "s3://lake/silver/orders_daily"),
        ("silvre.orders_daily", "s3://lake/silver/orders_daily"),
        ("s3://lake/silver/orders-daily", "s3://lake/silver/orders_daily"),
        ("s3://other/silver/orders_dialy/", "s3://lake/silver/orders_daily"),
        ("crm.supliers", "postgres://db:5432/crm.Suppliers"),
        ("CRM.SUPPLIRES", "postgres://db:5432/crm.Suppliers"),
        ("prodct", "s3://lake/silver/dimProductPrice"),
        ("gold", None),
        ("order", "load_orders"),
        ("nothing_of_the_kind", None),
        ("/", None),
        ("", None),
    ],
)
def test_the_name_that_was_meant_comes_first(asked: str, first: str | None) -> None:
    found = nearest_names(asked, NAMES)
    assert (found[0] if found else None) == first


def test_a_name_that_has_what_was_asked_in_its_last_part_is_near() -> None:
    assert nearest_names("price", NAMES) == ["s3://lake/silver/dimProductPrice"]
    assert nearest_names("pric", ["unit_prices_in_the_currency_of_the_country"]) == [
        "unit_prices_in_the_currency_of_the_country"
    ]
    assert nearest_names("id", ["customer_identifier"]) == []


def test_no_more_than_wanted_are_named_and_equal_ones_in_order() -> None:
    many = [f"s3://lake/x{number}/orders" for number in range(9)]
    assert nearest_names("ordres", reversed(many)) == many[:5]
    assert nearest_names("ordres", many, 2) == many[:2]


def test_the_least_similarity_can_be_set() -> None:
    assert nearest_names("TOKEN", ["PORT", "SINKS"]) == []
    assert nearest_names("TOKEN", ["PORT", "SINKS"], limit=1, min_similarity=0) != []
