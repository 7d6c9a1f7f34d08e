"""Where every sandbox starts: people, messages, reminders, menus, flights, reservations, in both languages.

Owns data only; each function makes a fresh copy, so that no episode sees another's changes. Source: spec
section 4 and the end states of the oracle file.
"""

# ruff: noqa: RUF001 - full-width punctuation is what the messages say

from __future__ import annotations

from typing import Final

from replay.core.types import Json

__all__ = [
    "PHONE_USERS",
    "make_flights",
    "make_food_users",
    "make_inbox",
    "make_menus",
    "make_reminders",
    "make_reservations",
    "make_travel_users",
]

PHONE_USERS: Final = {
    "Eve": "USR100",
    "Frank": "USR101",
    "Grace": "USR102",
    "Helen": "USR103",
    "Isaac": "USR104",
    "Jack": "USR105",
}
"""Name and number of everyone who can write a message."""

_PIZZA: Final = {
    "en": 'Can you help me order a "Margherita Pizza" delivery? The merchant is Domino\'s.',
    "zh": '你能帮我点一个"玛格丽特披萨"的外卖吗,商家是达美乐。',
}
_TEA: Final = {
    "en": (
        "Please check the milk tea delivery options available from Heytea and purchase a cheaper milk tea "
        'for me. After making the purchase, remember to reply to me with "Already bought."'
    ),
    "zh": "帮我查一些喜茶有哪些奶茶外卖，买一杯便宜些的奶茶。买完以后记得回复我,回复的内容是（已经买好了）",
}
_TO_DO: Final = {
    "en": (
        'First, help Frank place a food delivery order at "Hema Fresh," ordering two "Fresh Gift Packs." '
        'Then, send a message to Frank saying, "The price of the purchased goods is () yuan." Replace the '
        "parentheses with the actual amount, keeping one decimal place."
    ),
    "zh": (
        '首先帮Frank在"盒马生鲜"点外卖，需要定两个"生鲜大礼包"，再发短信告诉Frank："购买商品的价格是()元"。'
        "要把括号换成实际金额，保留一位小数。"
    ),
}
_MENUS: Final = {
    "en": (
        ("Domino's", ("Margherita Pizza", 68.0), ("Super Supreme Pizza", 88.0)),
        ("Rice Village Bibimbap", ("Stone Pot Bibimbap", 35.0), ("Korean Beef Bibimbap", 45.0)),
        ("Haidilao", ("Beef Rolls", 68.0), ("Seafood Platter", 88.0)),
        ("Heytea", ("Cheese Milk Tea", 25.0), ("Four Seasons Spring Milk Tea", 22.0)),
        ("Hema Fresh", ("Organic Vegetable Pack", 15.0), ("Fresh Gift Pack", 99.0)),
        ("Jiutian BBQ", ("Korean Grilled Beef", 128.0), ("Grilled Pork Belly", 78.0)),
    ),
    "zh": (
        ("达美乐", ("玛格丽特披萨", 68.0), ("超级至尊披萨", 88.0)),
        ("米村拌饭", ("石锅拌饭", 35.0), ("韩式牛肉拌饭", 45.0)),
        ("海底捞", ("牛肉卷", 68.0), ("海鲜拼盘", 88.0)),
        ("喜茶", ("芝士奶茶", 25.0), ("四季春奶茶", 22.0)),
        ("盒马生鲜", ("有机蔬菜包", 15.0), ("生鲜大礼包", 99.0)),
        ("九田家烤肉", ("韩式烤牛肉", 128.0), ("烤五花肉", 78.0)),
    ),
}
_CITIES: Final = {
    "PEK": ("Beijing", "北京"),
    "SHA": ("Shanghai", "上海"),
    "NKG": ("Nanjing", "南京"),
    "SZX": ("Shenzhen", "深圳"),
    "XMN": ("Xiamen", "厦门"),
    "CTU": ("Chengdu", "成都"),
    "FOC": ("Fuzhou", "福州"),
}
_FLIGHTS: Final = (
    ("CA1234", "PEK", "SHA", "15 08:00", "15 10:30", 5, 1200, 3000),
    ("MU5678", "SHA", "PEK", "16 09:00", "16 11:30", 3, 1900, 3000),
    ("CZ4321", "SHA", "PEK", "16 20:00", "16 22:00", 8, 2500, 4000),
    ("CZ4352", "SHA", "PEK", "17 20:00", "17 22:00", 8, 1600, 2500),
    ("MU3561", "PEK", "NKG", "18 08:00", "18 10:00", 8, 1500, 4000),
    ("MU1566", "PEK", "NKG", "18 20:00", "18 22:00", 8, 1500, 4000),
    ("CZ1765", "NKG", "SZX", "17 20:30", "17 22:00", 8, 1500, 2500),
    ("CZ1765", "NKG", "SZX", "18 12:30", "18 15:00", 8, 1500, 2500),
    ("MH1765", "XMN", "CTU", "17 12:30", "17 15:00", 8, 1500, 2500),
    ("MH2616", "CTU", "XMN", "18 18:30", "18 21:00", 8, 1500, 2500),
    ("MH2616", "CTU", "FOC", "16 18:30", "16 21:00", 8, 1500, 2500),
)
"""Number, from, to, departure and arrival (day of July 2024 and time), seats, economy and business price."""

_RESERVATIONS: Final = (
    ("user1", "CA1234", "economy", "PEK", "SHA"),
    ("user1", "MU5678", "business", "SHA", "PEK"),
    ("user2", "MH1765", "business", "XMN", "CTU"),
    ("user2", "MU2616", "business", "CTU", "XMN"),
)
"""The last one has a number that no flight has; so it is upstream."""


def make_inbox(language: str) -> dict[int, dict[str, Json]]:
    """Messages by number."""
    rows = (
        (
            "USR100",
            "USR101",
            "Hey Frank, don't forget about our meeting on 2024-06-11 at 4 PM in Conference Room 1.",
            "2024-06-09",
        ),
        ("USR101", "USR102", _PIZZA[language], "2024-03-09"),
        ("USR102", "USR103", _TEA[language], "2023-12-05"),
        ("USR103", "USR102", "No problem Helen, I can assist you.", "2024-09-09"),
        ("USR104", "USR105", "Isaac, are you available for a call?", "2024-06-06"),
        ("USR105", "USR104", "Yes Jack, let's do it in 30 minutes.", "2024-01-15"),
    )
    return {
        number: {"sender_id": sender, "receiver_id": receiver, "message": message, "time": time}
        for number, (sender, receiver, message, time) in enumerate(rows, start=1)
    }


def make_reminders(language: str) -> dict[Json, dict[str, Json]]:
    """Reminders by number; what they call their own number is another."""
    rows = (
        ("Doctor's Appointment", "Visit Dr. Smith for a checkup.", "2024-07-15 09:30"),
        ("Team Meeting", "Monthly project review with the team.", "2024-07-17 11:00"),
        ("To-do list", _TO_DO[language], "2024-07-16 11:00"),
    )
    return {
        number: {
            "reminder_id": 1000 + number,
            "title": title,
            "description": description,
            "time": time,
            "notified": False,
        }
        for number, (title, description, time) in enumerate(rows, start=1)
    }


def make_food_users() -> dict[str, dict[str, Json]]:
    """Accounts of the food platform by name."""
    rows = (
        ("Eve", "123", 500.0),
        ("Frank", "456", 300.0),
        ("Grace", "789", 150.0),
        ("Helen", "321", 800.0),
        ("Isaac", "654", 400.0),
        ("Jack", "654", 120.0),
    )
    return {
        name: {"user_id": f"U{number}", "password": f"password{digits}", "balance": balance}
        for number, (name, digits, balance) in enumerate(rows, start=100)
    }


def make_menus(language: str) -> dict[str, list[dict[str, Json]]]:
    """Products and prices by merchant."""
    return {
        merchant: [{"product": product, "price": price} for product, price in products]
        for merchant, *products in _MENUS[language]
    }


def make_travel_users() -> dict[str, dict[str, Json]]:
    """Accounts of the travel desk by number."""
    rows = (
        ("Eve", "123", 2000.0, 50000.0, "regular"),
        ("Frank", "456", 8000.0, 8000.0, "silver"),
        ("Grace", "789", 1000.0, 5000.0, "gold"),
    )
    return {
        f"user{number}": {
            "user_name": name,
            "password": f"password{digits}",
            "cash_balance": cash,
            "bank_balance": bank,
            "membership_level": level,
        }
        for number, (name, digits, cash, bank, level) in enumerate(rows, start=1)
    }


def make_flights(language: str) -> list[dict[str, Json]]:
    """All flights; a number may come twice."""
    return [
        {
            "flight_no": number,
            "origin": _city(origin, language),
            "destination": _city(destination, language),
            "depart_time": f"2024-07-{depart}:00",
            "arrival_time": f"2024-07-{arrive}:00",
            "status": "available",
            "seats_available": seats,
            "economy_price": economy,
            "business_price": business,
        }
        for number, origin, destination, depart, arrive, seats, economy, business in _FLIGHTS
    ]


def make_reservations(language: str, cabins: dict[str, str]) -> list[dict[str, Json]]:
    """Reservations that were made before the episode; only these know their cities."""
    return [
        {
            "reservation_id": f"res_{number}",
            "user_id": user,
            "flight_no": flight,
            "payment_method": "bank",
            "cabin": cabins[cabin],
            "baggage": 1,
            "origin": _city(origin, language),
            "destination": _city(destination, language),
        }
        for number, (user, flight, cabin, origin, destination) in enumerate(_RESERVATIONS, start=1)
    ]


def _city(code: str, language: str) -> str:
    english, chinese = _CITIES[code]
    return english if language == "en" else chinese
