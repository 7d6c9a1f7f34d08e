"""The food platform: logins, quantities, balances in both languages."""

# ruff: noqa: RUF001, S106 - what the sandbox says; passwords of its invented people

from __future__ import annotations

import pytest

from replay.benchmarks.acebench.world.sandbox import Sandbox
from replay.core.types import Json
from tests.unit.benchmarks.acebench.world.sandboxes import ask, make_box, text

SHOP = {"en": ("Heytea", "Cheese Milk Tea"), "zh": ("喜茶", "芝士奶茶")}


def make_guest(language: str = "en", *, clean: bool = False) -> Sandbox:
    """A sandbox in which Jack, who has 120, is logged in."""
    box = make_box(language, clean=clean)
    ask(box, "login_food_platform", username="Jack", password="password654")
    return box


def order(box: Sandbox, items: Json, *, language: str = "en", **changed: Json) -> Json:
    """Jack's order at the tea shop."""
    given = {"username": "Jack", "merchant_name": SHOP[language][0], "items": items, **changed}
    return ask(box, "add_food_delivery_order", **given)


def test_login_checks_wifi_user_password_and_repeats() -> None:
    """In this order."""
    off = make_box(on=False)
    box = make_guest()
    said = [
        text(off, "login_food_platform", username="Zoe", password=""),
        text(box, "login_food_platform", username="Zoe", password=""),
        text(box, "login_food_platform", username="Eve", password=""),
        text(box, "login_food_platform", username="Jack", password="password654"),
    ]
    assert said == [
        "Wi-Fi is not enabled, unable to login",
        "User does not exist",
        "Incorrect password",
        "Jack is already logged in",
    ]


@pytest.mark.parametrize(("language", "status"), [("en", True), ("zh", False)])
def test_the_last_coin_can_be_spent_in_english_only(language: str, status: bool) -> None:
    """The Chinese platform wants something left."""
    product = ("Organic Vegetable Pack", "Hema Fresh") if language == "en" else ("有机蔬菜包", "盒马生鲜")
    items = [{"product": product[0], "quantity": 8}]
    done = order(make_guest(language), items, language=language, merchant_name=product[1])
    assert status == done["status"]


@pytest.mark.parametrize("quantity", [0, -1, "2", 1.0, None, [1]])
def test_a_quantity_is_a_positive_integer(quantity: Json) -> None:
    """And is checked before the product."""
    said = order(make_guest(), [{"product": "x", "quantity": quantity}])["message"]
    assert said == f"Invalid quantity {quantity} for product x"


def test_a_missing_quantity_is_one_and_true_is_one() -> None:
    """A boolean is an integer to Python."""
    box = make_guest()
    items = [{"product": SHOP["en"][1]}, {"product": SHOP["en"][1], "quantity": True}]
    assert order(box, items)["message"].endswith("Total amount: 50.0 yuan")
    assert ask(box, "check_balance", user_name="Jack") == 70.0


def test_a_failing_item_leaves_everything_as_it_was() -> None:
    """Orders are all or nothing."""
    box = make_guest()
    before = box.state()
    items = [{"product": SHOP["en"][1], "quantity": 1}, {"product": "Coffee", "quantity": 1}]
    assert order(box, items)["message"] == "Product Coffee does not exist in Heytea's menu"
    assert order(box, [{"product": SHOP["en"][1], "quantity": 5}])["message"].startswith(
        "Insufficient balance"
    )
    assert before == box.state()


@pytest.mark.parametrize(
    ("items", "words"),
    [
        (3, "'int' object is not iterable"),
        (["tea"], "'str' object has no attribute 'get'"),
        (None, "'NoneType' object is not iterable"),
        ([{"product": "Cheese Milk Tea", "quantity": 10**400}], "int too large to convert to float"),
    ],
)
def test_items_of_a_wrong_kind_fail_in_python(items: Json, words: str) -> None:
    """And change nothing."""
    box = make_guest()
    before = box.state()
    assert words == order(box, items)
    assert before == box.state()


def test_an_order_of_nothing_succeeds() -> None:
    """It costs 0.0 and is kept."""
    box = make_guest("zh")
    assert order(box, [], language="zh")["message"] == "外卖订单成功下单给 喜茶，总金额为 0.0 元"
    assert len(ask(box, "view_orders", user_name="Jack")["orders"]) == 1


def test_users_and_merchants_that_do_not_exist() -> None:
    """The user comes first."""
    box = make_guest()
    assert order(box, [], username="Eve")["message"] == "User Eve is not logged in to the food platform"
    assert order(box, [], merchant_name="KFC")["message"] == "Merchant does not exist"
    assert text(box, "get_products", merchant_name="KFC") == "Merchant 'KFC' does not exist"
    assert text(box, "view_orders", user_name="Eve") == "User has no order records"


def test_who_is_logged_in_is_told() -> None:
    """Or that nobody is."""
    assert ask(make_guest(), "view_logged_in_users") == {"status": True, "logged_in_users": ["Jack"]}
    assert text(make_box("zh"), "view_logged_in_users") == "当前没有登录food platform"


@pytest.mark.parametrize("language", ["en", "zh"])
def test_orders_are_found_by_merchant_and_in_english_by_product(language: str) -> None:
    """The Chinese search fails when it must look inside an order."""
    box = make_guest(language)
    order(box, [{"product": SHOP[language][1], "quantity": 1}], language=language)
    found = ask(box, "search_orders", keyword=SHOP[language][0])
    assert found["status"] is True
    inside = ask(box, "search_orders", keyword=SHOP[language][1])
    expected = True if language == "en" else "'dict' object has no attribute 'lower'"
    assert (inside["status"] if language == "en" else inside) == expected


def test_a_clean_chinese_search_looks_inside() -> None:
    """As the English one does."""
    box = make_guest("zh", clean=True)
    order(box, [{"product": SHOP["zh"][1], "quantity": 1}], language="zh")
    assert ask(box, "search_orders", keyword="芝士")["status"] is True
    assert text(box, "search_orders", keyword="zzz") == "没有找到匹配的订单"
