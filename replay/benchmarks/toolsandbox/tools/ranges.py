"""Ranges of timestamps and coordinates, phone numbers and currency codes. Source: common/validators.py."""

from __future__ import annotations

from typing import Final

from replay.benchmarks.toolsandbox.libraries import load_library
from replay.benchmarks.toolsandbox.tools.failures import CODE_FAULTS, WrongValueError, describe
from replay.benchmarks.toolsandbox.tools.tool import NOT_GIVEN
from replay.core.types import Json

__all__ = ["check_currency", "check_latitude", "check_longitude", "check_phone_number", "check_timestamp"]

# About 1980 and 2050, as upstream wrote the numbers down (some hours off UTC midnight).
_TIMESTAMPS: Final = (315529200.0, 2524604400.0)
_LATITUDES: Final = (-90.0, 90.0)
_LONGITUDES: Final = (-180.0, 180.0)

_CURRENCY_CODES: Final = """
    AED ALL AMD ARS AUD AZN BAM BDT BGN BHD BMD BOB BRL BYN CAD CHF CLP CNY COP CRC CZK
    DKK DOP EGP EUR GBP GEL GTQ HKD HNL HUF IDR ILS INR IQD ISK JMD JOD JPY KRW KWD KZT
    LKR MDL MKD MXN MYR NGN NIO NOK NZD OMR PEN PHP PKR PLN PYG QAR RON RSD RUB SAR SEK
    SGD THB TRY TTD TWD UAH USD UYU VES VND XAG XAU XBT XDR ZAR
"""
"""Codes known to the library that upstream asks (ccy 2.0.0), frozen: which codes exist changes with time."""


def check_timestamp(name: str, value: Json) -> None:
    """Refuse a number of seconds outside 1980..2050: a mistaken unit."""
    _check_range(name, value, _TIMESTAMPS)


def check_latitude(name: str, value: Json) -> None:
    """Refuse a latitude outside -90..90."""
    _check_range(name, value, _LATITUDES)


def check_longitude(name: str, value: Json) -> None:
    """Refuse a longitude outside -180..180."""
    _check_range(name, value, _LONGITUDES)


def check_phone_number(value: Json) -> None:
    """Refuse what the phone number library cannot parse without a default region."""
    if value is NOT_GIVEN:
        return
    library = load_library("phonenumbers")
    try:
        library.parse(value)
    except (library.NumberParseException, *CODE_FAULTS) as error:
        raise describe(error) from None


def check_currency(code: str) -> None:
    """Refuse an unknown currency code; case does not matter."""
    if code.upper() not in _CURRENCY_CODES.split():
        raise WrongValueError(f"{code} is not a known 3 letter ISO 4217 currency code")


def _check_range(name: str, value: Json, limits: tuple[float, float]) -> None:
    if not isinstance(value, (int, float)):
        return
    low, high = limits
    if value < low:
        raise WrongValueError(f"Parameter '{name}' is smaller than its valid range minimum of {low}.")
    if value > high:
        raise WrongValueError(f"Parameter '{name}' is larger than its valid range maximum of {high}.")
