"""The travel desk: flights, bookings, changes, cancellations. Rules and order of checks as in spec section 4.

Owns money and seats. What looks wrong here is upstream's: a change of flight costs nothing, a cabin is
changed before it is paid, a cancelled reservation stays and can be cancelled again. `clean` answers
where upstream fails (wrong password, unknown flight or cabin); it repairs no price.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from replay.benchmarks.acebench.world.start import make_flights, make_reservations, make_travel_users
from replay.core.types import Json

__all__ = ["Travel"]

_NOW: Final = "2024-07-14 06:00:00"
_A_DAY_ON: Final = "2024-07-15 06:00:00"
_BAG: Final = 50
_FREE_BAGS: Final = {"regular": (1, 2), "silver": (2, 3), "gold": (3, 3)}
"""Economy and business, by membership."""


class Travel:
    """Three users with cash and bank accounts, eleven flights, four reservations."""

    def __init__(self, words: Mapping[str, str], language: str, *, clean: bool) -> None:
        """Start with everything available."""
        self._words = words
        self._clean = clean
        self._cabins = (words["economy"], words["business"])
        self.users = make_travel_users()
        self.flights = make_flights(language)
        self.reservations = make_reservations(
            language, {"economy": words["economy"], "business": words["business"]}
        )

    def saved(self) -> dict[str, Json]:
        """Attributes that are compared at the end."""
        return {"users": self.users, "reservations": self.reservations}

    # ---- questions -------------------------------------------------------------------------------------

    def get_flight_details(self, origin: Json = None, destination: Json = None) -> Json:
        """List flights from and to a city."""
        found = [
            dict(flight)
            for flight in self.flights
            if (not origin or flight["origin"] == origin)
            and (not destination or flight["destination"] == destination)
        ]
        return found or self._words["no-direct"]

    def get_user_details(self, user_id: Json, password: Json) -> Json:
        """Show an account without its password."""
        user = self.users.get(user_id)
        if user and user["password"] == password:
            return {name: value for name, value in user.items() if name != "password"}
        return self._error("bad-login")

    def get_reservation_details(self, reservation_id: Json = None, user_id: Json = None) -> Json:
        """List reservations, each with the first flight of its number."""
        if reservation_id:
            found = [entry for entry in self.reservations if entry["reservation_id"] == reservation_id]
        elif user_id:
            found = [entry for entry in self.reservations if entry["user_id"] == user_id]
        else:
            return self._error("no-reservation-asked")
        return [{**entry, "flight_info": self._flight(entry["flight_no"])} for entry in found]

    def find_transfer_flights(self, origin_city: Json, transfer_city: Json, destination_city: Json) -> Json:
        """List pairs of flights where the first arrives before the second departs."""
        pairs = [
            {"first_leg": first, "second_leg": second}
            for first in self.flights
            if (first["origin"], first["destination"]) == (origin_city, transfer_city)
            for second in self.flights
            if (second["origin"], second["destination"]) == (transfer_city, destination_city)
            # Times of one form compare as their texts do.
            and first["arrival_time"] < second["depart_time"]
        ]
        return pairs or self._words["no-transfer"]

    # ---- changes ---------------------------------------------------------------------------------------

    def reserve_flight(
        self,
        user_id: Json,
        password: Json,
        flight_no: Json,
        cabin: Json,
        payment_method: Json,
        baggage_count: Json,
    ) -> Json:
        """Book the first flight of a number; a wrong password fails only where the membership is needed."""
        user = self.authenticate_user(user_id, password)
        flight = self._flight(flight_no)
        refusal = self._clean_refusal(user, flight, cabin)
        if refusal:
            return refusal
        cost = flight["economy_price" if cabin == self._cabins[0] else "business_price"]
        cost += self.calculate_baggage_fee(user["membership_level"], cabin, baggage_count)
        if payment_method not in ["cash", "bank"]:
            return self._words["bad-payment"]
        account = f"{payment_method}_balance"
        if cost > self.users[user_id][account]:
            return self._words[f"{payment_method}-short"]
        self.users[user_id][account] -= cost
        flight["seats_available"] -= 1
        reservation = f"res_{len(self.reservations) + 1}"
        self.reservations.append(
            {
                "reservation_id": reservation,
                "user_id": user_id,
                "flight_no": flight_no,
                "payment_method": payment_method,
                "cabin": cabin,
                "baggage": baggage_count,
            }
        )
        return self._words["booked"].format(id=reservation, cost=cost)

    def modify_flight(
        self,
        user_id: Json,
        reservation_id: Json,
        new_flight_no: Json = None,
        new_cabin: Json = None,
        add_baggage: Json = 0,
        new_payment_method: Json = None,
    ) -> Json:
        """Change flight, cabin and baggage in this order; what was changed before a failure stays changed."""
        reservation = self._reservation(reservation_id, user_id)
        if reservation is None:
            return self._words["modify-no-reservation"]
        flight = self._flight(reservation["flight_no"])
        if flight is None:
            return self._words["modify-no-flight"]
        method = new_payment_method or reservation["payment_method"]
        user = self.users[user_id]
        said: list[str] = []
        if new_flight_no and new_flight_no != reservation["flight_no"]:
            new = self._flight(new_flight_no)
            route = ("origin", "destination")
            if new is None or any(new[end] != flight[end] for end in route):
                return self._words["flight-mismatch"]
            reservation["flight_no"] = new_flight_no
            said.append(self._words["flight-changed"])
        if new_cabin and new_cabin != reservation["cabin"]:
            said += self._change_cabin(user, reservation, flight, (new_cabin, method))
        if add_baggage > 0:
            said += self._add_baggage(user, reservation, add_baggage, method)
        return " ".join(said) or self._words["modified-free"]

    def cancel_reservation(self, user_id: Json, reservation_id: Json, reason: Json) -> Json:
        """Refund a reservation in cash; it stays in the list."""
        user = self.users.get(user_id)
        if not user:
            return self._words["cancel-no-user"]
        reservation = self._reservation(reservation_id, user_id)
        if reservation is None:
            return self._words["cancel-no-reservation"]
        flight = self._flight(reservation["flight_no"])
        if flight is None:
            return self._words["cancel-no-flight"]
        if flight["depart_time"] < _NOW:
            return self._words["cancel-used"]
        is_economy = reservation["cabin"] == self._cabins[0]
        price = flight["economy_price" if is_economy else "business_price"]
        if reason == self._words["airline-reason"]:
            name, fee, refund = "cancel-airline", 0, price
        elif flight["depart_time"] > _A_DAY_ON:
            name, fee, refund = "cancel-early", 0, price
        else:
            fee = price * 0.1
            name, refund = "cancel-late", price - fee
        self.process_refund(user, refund)
        return self._words[name].format(fee=fee, amount=refund)

    # ---- helpers that upstream leaves open to the candidate --------------------------------------------

    def authenticate_user(self, user_id: Json, password: Json) -> Json:
        """Return the account with its password, or an error object that looks like one."""
        user = self.users.get(user_id)
        if user and user["password"] == password:
            return user
        return self._error("bad-login")

    def get_baggage_allowance(self, membership_level: Json, cabin_class: Json) -> Json:
        """Count free bags; unknown memberships and cabins have none."""
        free = {level: dict(zip(self._cabins, bags, strict=True)) for level, bags in _FREE_BAGS.items()}
        return free.get(membership_level, {}).get(cabin_class, 0)

    def calculate_baggage_fee(self, membership_level: Json, cabin_class: Json, baggage_count: Json) -> Json:
        """Price bags above the free ones; fails for unknown memberships and cabins."""
        free = {level: dict(zip(self._cabins, bags, strict=True)) for level, bags in _FREE_BAGS.items()}
        return max(baggage_count - free[membership_level][cabin_class], 0) * _BAG

    def update_balance(self, user: Json, payment_method: Json, amount: Json) -> Json:
        """Add to an account unless it falls below nothing; an unknown account takes any amount."""
        for method in ("cash", "bank"):
            if payment_method == method:
                if user[f"{method}_balance"] + amount < 0:
                    return False
                user[f"{method}_balance"] += amount
        return True

    def process_refund(self, user: Json, amount: Json) -> Json:
        """Add to the cash account."""
        user["cash_balance"] += amount

    def calculate_price_difference(self, flight: Json, old_cabin: Json, new_cabin: Json) -> Json:
        """Price of one cabin less that of another; an unknown cabin costs nothing."""
        prices = dict(zip(self._cabins, (flight["economy_price"], flight["business_price"]), strict=True))
        return prices.get(new_cabin, 0) - prices.get(old_cabin, 0)

    # ---- inside ----------------------------------------------------------------------------------------

    def _flight(self, number: Json) -> Json:
        return next((flight for flight in self.flights if flight["flight_no"] == number), None)

    def _reservation(self, number: Json, user: Json) -> Json:
        return next(
            (
                entry
                for entry in self.reservations
                if entry["reservation_id"] == number and entry["user_id"] == user
            ),
            None,
        )

    def _change_cabin(
        self, user: Json, reservation: Json, flight: Json, change: tuple[Json, Json]
    ) -> list[str]:
        """Priced on the flight that was booked before this call."""
        cabin, method = change
        difference = self.calculate_price_difference(flight, reservation["cabin"], cabin)
        reservation["cabin"] = cabin
        if difference > 0:
            is_paid = self.update_balance(user, method, -difference)
            return [self._words["cabin-paid" if is_paid else "cabin-short"].format(amount=difference)]
        if difference < 0:
            self.update_balance(user, method, -difference)
            return [self._words["cabin-refund"].format(amount=-difference)]
        return []

    def _add_baggage(self, user: Json, reservation: Json, bags: Json, method: Json) -> list[str]:
        """Every bag above the free ones is paid, also those paid before."""
        total = reservation["baggage"] + bags
        free = self.get_baggage_allowance(user["membership_level"], reservation["cabin"])
        cost = max(0, total - free) * _BAG
        said = []
        if cost > 0:
            is_paid = self.update_balance(user, method, -cost)
            said.append(self._words["baggage-paid" if is_paid else "baggage-short"].format(amount=cost))
        reservation["baggage"] = total
        return said

    def _clean_refusal(self, user: Json, flight: Json, cabin: Json) -> str:
        if not self._clean:
            return ""
        if "membership_level" not in user:
            return self._words["authentication"]
        if flight is None:
            return self._words["clean-no-flight"]
        return "" if cabin in self._cabins else self._words["clean-no-cabin"]

    def _error(self, name: str) -> dict[str, Json]:
        return {"status": "error", "message": self._words[name]}
