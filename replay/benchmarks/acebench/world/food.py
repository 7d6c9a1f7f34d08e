"""The food platform: logins, menus, balances, orders. Rules and order of checks as in spec section 4."""

from __future__ import annotations

from collections.abc import Mapping

from replay.benchmarks.acebench.world.phone import BaseApi
from replay.benchmarks.acebench.world.start import make_food_users, make_menus
from replay.core.types import Json

__all__ = ["FoodPlatform"]


class FoodPlatform:
    """Six accounts, six merchants with two products each."""

    def __init__(self, device: BaseApi, words: Mapping[str, str], language: str, *, clean: bool) -> None:
        """Start with nobody logged in and nothing ordered."""
        self.users = make_food_users()
        self.logged_in_users: list[Json] = []
        self.orders: list[dict[str, Json]] = []
        self._menus = make_menus(language)
        self._device = device
        self._words = words
        self._spends_all = language == "en"
        self._items_are_texts = language == "zh" and not clean

    def saved(self) -> dict[str, Json]:
        """Attributes that are compared at the end."""
        return {"users": self.users, "logged_in_users": self.logged_in_users, "orders": self.orders}

    def login_food_platform(self, username: Json, password: Json) -> Json:
        """Log a user in; needs Wi-Fi, not the device's login."""
        if self._device.wifi == False:  # noqa: E712 - a task may say 0 or None; only what equals False counts
            return self._refuse("food-no-wifi")
        if username not in self.users:
            return self._refuse("food-no-user")
        if self.users[username]["password"] != password:
            return self._refuse("food-password")
        if username in self.logged_in_users:
            return self._refuse("food-already", user=username)
        self.logged_in_users.append(username)
        return {"status": True, "message": self._words["food-in"].format(user=username)}

    def view_logged_in_users(self) -> Json:
        """Show who is logged in."""
        if not self.logged_in_users:
            return self._refuse("food-nobody")
        return {"status": True, "logged_in_users": list(self.logged_in_users)}

    def check_balance(self, user_name: Json) -> Json:
        """Show a balance; nobody has none."""
        return self.users[user_name]["balance"] if user_name in self.users else 0.0

    def add_food_delivery_order(self, username: Json, merchant_name: Json, items: Json) -> Json:
        """Order from one merchant; all or nothing. No items at all are an order of 0.0."""
        if username not in self.logged_in_users:
            return self._refuse("food-not-in", user=username)
        if merchant_name not in self._menus:
            return self._refuse("no-merchant")
        total = 0.0
        bought: list[Json] = []
        for item in items:
            product, quantity = item.get("product"), item.get("quantity", 1)
            if not isinstance(quantity, int) or quantity <= 0:
                return self._refuse("bad-quantity", quantity=quantity, product=product)
            prices = [entry["price"] for entry in self._menus[merchant_name] if entry["product"] == product]
            if not prices:
                return self._refuse("no-product", product=product, merchant=merchant_name)
            total += prices[0] * quantity
            bought.append({"product": product, "quantity": quantity, "price_per_unit": prices[0]})
        balance = self.users[username]["balance"]
        if total > balance or (total == balance and not self._spends_all):
            return self._refuse("food-balance")
        self.users[username]["balance"] -= total
        self.orders.append(
            {"user_name": username, "merchant_name": merchant_name, "items": bought, "total_price": total}
        )
        text = self._words["ordered"].format(merchant=merchant_name, total=total)
        return {"status": True, "message": text}

    def get_products(self, merchant_name: Json) -> Json:
        """Show a menu as a list."""
        menu = self._menus.get(merchant_name)
        return menu or self._refuse("no-such-merchant", merchant=merchant_name)

    def view_orders(self, user_name: Json) -> Json:
        """Show what a user ordered."""
        found = [order for order in self.orders if order["user_name"] == user_name]
        return {"status": True, "orders": found} if found else self._refuse("no-orders")

    def search_orders(self, keyword: Json) -> Json:
        """Search merchants and products; the Chinese sandbox takes each item for a text and fails there."""
        found = [order for order in self.orders if self._holds(order, keyword)]
        return {"status": True, "orders": found} if found else self._refuse("no-order-found")

    def _holds(self, order: Mapping[str, Json], keyword: Json) -> bool:
        if keyword.lower() in order["merchant_name"].lower():
            return True
        texts = (item if self._items_are_texts else item["product"] for item in order["items"])
        return any(keyword.lower() in text.lower() for text in texts)

    def _refuse(self, name: str, **values: Json) -> dict[str, Json]:
        return {"status": False, "message": self._words[name].format(**values)}
