"""The travel desk: prices, bags, refunds, and the mistakes that are upstream's own."""

# ruff: noqa: RUF001, S105, S106 - what the sandbox says; passwords of its invented people

from __future__ import annotations

import pytest

from replay.benchmarks.acebench.world.sandbox import Sandbox
from replay.core.types import Json
from tests.unit.benchmarks.acebench.world.sandboxes import ask, make_box

FREE = "More than 24 hours before departure. Free cancellation successful, {} yuan has been refunded."


def book(box: Sandbox, **changed: Json) -> Json:
    """Eve books an economy seat to Shanghai in cash without bags."""
    given = {
        "user_id": "user1",
        "password": "password123",
        "flight_no": "CA1234",
        "cabin": "Economy Class",
        "payment_method": "cash",
        "baggage_count": 0,
        **changed,
    }
    return ask(box, "reserve_flight", **given)


def account(box: Sandbox, user: str = "user1") -> Json:
    """Cash and bank balance."""
    saved = box.state()["saved"][-1]["Travel"]["users"][user]
    return saved["cash_balance"], saved["bank_balance"]


def test_a_booking_costs_price_and_bags() -> None:
    """50 for each bag above the free ones; a seat less; no cities in the reservation."""
    box = make_box()
    assert book(box, baggage_count=3) == (
        "Booking successful. Reservation ID: res_5. Total cost: 1300 yuan (including baggage fees)."
    )
    assert (700.0, 50000.0) == account(box)
    assert box.state()["rest"]["Travel"]["flights"][0]["seats_available"] == 4
    reservation = box.state()["saved"][-1]["Travel"]["reservations"][-1]
    assert set(reservation) == {
        "reservation_id",
        "user_id",
        "flight_no",
        "payment_method",
        "cabin",
        "baggage",
    }


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"password": "wrong"}, "'membership_level'"),
        ({"user_id": "user9"}, "'membership_level'"),
        ({"flight_no": "XX0000"}, "'NoneType' object is not subscriptable"),
        ({"cabin": "First Class"}, "'First Class'"),
        ({"baggage_count": "2"}, "unsupported operand type(s) for -: 'str' and 'int'"),
        ({"payment_method": "card"}, "Invalid payment method"),
        (
            {"cabin": "Business Class"},
            "Your cash balance is insufficient. Please consider using another payment method.",
        ),
        (
            {"user_id": "user3", "password": "password789", "payment_method": "bank", "baggage_count": 99},
            "Your bank balance is insufficient. Please consider using another payment method.",
        ),
    ],
)
def test_a_booking_that_fails_changes_nothing(changed: dict[str, Json], words: str) -> None:
    """In words or in Python's."""
    box = make_box()
    before = box.state()
    assert words == book(box, **changed)
    assert before == box.state()


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"password": "wrong"}, "Authentication failed. Please check your user ID and password."),
        ({"flight_no": "XX0000"}, "Flight does not exist or is not available."),
        ({"cabin": "First Class"}, "Unknown cabin."),
    ],
)
def test_a_clean_desk_answers_in_words(changed: dict[str, Json], words: str) -> None:
    """Where upstream's fails."""
    assert words == book(make_box(clean=True), **changed)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"new_flight_no": "CZ4321"}, "Flight number has been changed."),
        (
            {"new_flight_no": "CA1234"},
            "Flight change failed: Invalid new flight number or destination does not match.",
        ),
        ({"new_cabin": "Economy Class"}, "Cabin change successful. Price difference refunded: 1100."),
        ({"add_baggage": 3}, "Baggage has been added. Additional fee to be paid: 100."),
        ({"add_baggage": 1}, "Modification completed with no additional fees."),
        ({}, "Modification completed with no additional fees."),
        ({"user_id": "user2"}, "Reservation not found or user ID does not match."),
        ({"add_baggage": "1"}, "'>' not supported between instances of 'str' and 'int'"),
    ],
)
def test_a_change_says_what_it_did(changed: dict[str, Json], said: str) -> None:
    """Flight, cabin and bags of Eve's way back."""
    given = {"user_id": "user1", "reservation_id": "res_2", **changed}
    assert said == ask(make_box(), "modify_flight", **given)


def test_a_reservation_whose_flight_does_not_exist_cannot_be_changed() -> None:
    """One of the four is such."""
    box = make_box()
    assert (
        ask(box, "modify_flight", user_id="user2", reservation_id="res_4") == "Flight information not found."
    )
    said = ask(box, "cancel_reservation", user_id="user2", reservation_id="res_4", reason="x")
    assert said == "Invalid flight information."


def test_the_cabin_changes_even_when_it_cannot_be_paid() -> None:
    """The price is that of the flight booked before the call."""
    box = make_box()
    said = ask(
        box,
        "modify_flight",
        user_id="user1",
        reservation_id="res_1",
        new_cabin="Business Class",
        new_payment_method="cash",
    )
    assert said == "Cabin change successful. Price difference paid: 1800."
    book(box, user_id="user3", password="password789", payment_method="bank")
    ask(box, "update_balance", user={"cash_balance": 0}, payment_method="cash", amount=1)
    said = ask(
        box,
        "modify_flight",
        user_id="user3",
        reservation_id="res_5",
        new_cabin="Business Class",
        new_payment_method="cash",
    )
    assert said == "Insufficient balance to pay the cabin price difference."
    reservation = box.state()["saved"][-1]["Travel"]["reservations"][-1]
    assert (reservation["cabin"], reservation["payment_method"]) == ("Business Class", "bank")


def test_a_failure_on_the_way_keeps_what_was_changed_before() -> None:
    """The flight is changed, the bags are no number."""
    box = make_box()
    ask(
        box, "modify_flight", user_id="user1", reservation_id="res_2", new_flight_no="CZ4352", add_baggage="x"
    )
    assert box.state()["saved"][-1]["Travel"]["reservations"][1]["flight_no"] == "CZ4352"


@pytest.mark.parametrize(
    ("reservation", "reason", "said", "cash"),
    [
        (
            "res_1",
            "The airline has canceled the flight.",
            (
                "The flight has been canceled. Your reservation will be canceled free of charge, and 1200"
                " yuan has been refunded."
            ),
            3200.0,
        ),
        (
            "res_1",
            "other",
            FREE.format(1200),
            3200.0,
        ),
        (
            "res_2",
            "other",
            FREE.format(3000),
            5000.0,
        ),
        ("res_3", "other", "Invalid reservation ID or it does not belong to the user.", 2000.0),
    ],
)
def test_a_cancellation_pays_cash(reservation: str, reason: str, said: str, cash: float) -> None:
    """Whatever paid for the booking."""
    box = make_box()
    assert said == ask(box, "cancel_reservation", user_id="user1", reservation_id=reservation, reason=reason)
    assert account(box)[0] == cash


def test_a_cancellation_can_be_repeated() -> None:
    """The reservation is not removed."""
    box = make_box("zh")
    for _ in range(2):
        said = ask(
            box, "cancel_reservation", user_id="user1", reservation_id="res_1", reason="航空公司取消航班"
        )
    assert said == "航班已取消，您的预订将被免费取消，已退款1200元。"
    assert (4400.0, 50000.0) == account(box)


def test_flights_are_found_by_either_end() -> None:
    """Or all of them, or none."""
    box = make_box()
    assert ask(box, "get_flight_details", destination="Fuzhou").count("flight_no") == 1
    assert ask(box, "get_flight_details").count("'flight_no'") == 11
    assert (
        ask(box, "get_flight_details", origin="Fuzhou")
        == "There are no direct flights that meet the criteria."
    )


def test_a_change_of_planes_must_be_possible() -> None:
    """The first arrives before the second departs."""
    box = make_box()
    cities = {"origin_city": "Beijing", "transfer_city": "Nanjing", "destination_city": "Shenzhen"}
    assert ask(box, "find_transfer_flights", **cities).count("'first_leg'") == 1
    cities["destination_city"] = "Fuzhou"
    found = ask(box, "find_transfer_flights", **cities)
    assert found == "No connecting flights that meet the criteria were found."


def test_accounts_are_shown_without_their_password() -> None:
    """Unless the helper is asked."""
    box = make_box()
    assert "password" not in ask(box, "get_user_details", user_id="user1", password="password123")
    wrong = {"status": "error", "message": "Incorrect username or password."}
    assert wrong == ask(box, "get_user_details", user_id="user1", password="x")
    assert ask(box, "authenticate_user", user_id="user1", password="password123")["password"] == "password123"


def test_helpers_answer_as_upstream_leaves_them() -> None:
    """Numbers, a Python truth value as text, nothing as text."""
    box = make_box()
    assert ask(box, "get_baggage_allowance", membership_level="gold", cabin_class="Economy Class") == 3
    assert ask(box, "get_baggage_allowance", membership_level="none", cabin_class="x") == 0
    assert ask(box, "update_balance", user={}, payment_method="card", amount=5) == "True"
    assert ask(box, "process_refund", user={"cash_balance": 1}, amount=5) == "None"
    assert ask(box, "process_refund", user="user1", amount=5) == "string indices must be integers, not 'str'"


def test_asking_for_reservations_needs_one_number() -> None:
    """The reservation's comes before the user's."""
    box = make_box()
    assert (
        ask(box, "get_reservation_details")["message"] == "Please provide a valid reservation ID or user ID"
    )
    both = ask(box, "get_reservation_details", reservation_id="res_3", user_id="user1")
    assert both.count("reservation_id") == 1
    assert "'flight_info': None" in ask(box, "get_reservation_details", reservation_id="res_4")
