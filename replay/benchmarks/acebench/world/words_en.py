"""What the English sandbox says. Interface texts: they are compared by the byte.

Source: spec section 4 and the observations of the sandbox lines in the oracle file.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

__all__ = ["ENGLISH"]

ENGLISH: Final[Mapping[str, str]] = {
    "wifi-on": "Wi-Fi has been turned on",
    "device-in": "Device has been logged in",
    "send-no-login": "Device not logged in, unable to send message",
    "send-no-wifi": "Wi-Fi is turned off, cannot send messages at this time",
    "inbox-full": "Inbox capacity is full. You need to ask the user which message to delete.",
    "no-party": "Sender or receiver does not exist",
    "sent": "Message successfully sent to {receiver}.",
    "delete-no-login": "Device not logged in, unable to delete message",
    "no-message": "Message ID does not exist",
    "deleted": "Message ID {id} has been successfully deleted.",
    "view-no-login": "Device not logged in, unable to view message information",
    "no-sender": "Sender does not exist",
    "no-receiver": "Receiver does not exist",
    "none-between": "No related message records found",
    "no-user": "User does not exist",
    "none-found": "No messages found containing the keyword",
    "times-no-login": (
        "Device not logged in, unable to retrieve all message times and their corresponding message IDs."
    ),
    "latest-no-login": "Device not logged in, unable to retrieve the latest sent message ID.",
    "earliest-no-login": "Device not logged in, unable to retrieve the earliest sent message ID.",
    "inbox-empty": "No message records found",
    "latest": "The latest message ID is {id}",
    "earliest": "The earliest message ID is {id}",
    "reminder-view-no-login": "The device is not logged in, so you cannot view notifications",
    "no-title": "No reminder found with the title '{title}'.",
    "reminder-add-no-login": "Device not logged in. Unable to add a new reminder.",
    "reminders-full": "Reminder capacity is full. Unable to add a new reminder.",
    "reminder-added": "Reminder '{title}' was successfully added.",
    "reminder-delete-no-login": "Device not logged in. Unable to delete the specified reminder.",
    "no-reminder": "Reminder ID does not exist.",
    "reminder-deleted": "Reminder ID {id} was successfully deleted.",
    "reminders-empty": "No reminders found.",
    "food-no-wifi": "Wi-Fi is not enabled, unable to login",
    "food-no-user": "User does not exist",
    "food-password": "Incorrect password",
    "food-already": "{user} is already logged in",
    "food-in": "User {user} has successfully logged in!",
    "food-nobody": "No users are currently logged in to the food platform",
    "food-not-in": "User {user} is not logged in to the food platform",
    "no-merchant": "Merchant does not exist",
    "bad-quantity": "Invalid quantity {quantity} for product {product}",
    "no-product": "Product {product} does not exist in {merchant}'s menu",
    "food-balance": "Insufficient balance to place the order",
    "ordered": "Food delivery order successfully placed with {merchant}. Total amount: {total} yuan",
    "no-such-merchant": "Merchant '{merchant}' does not exist",
    "no-orders": "User has no order records",
    "no-order-found": "No matching orders found",
    "economy": "Economy Class",
    "business": "Business Class",
    "no-direct": "There are no direct flights that meet the criteria.",
    "bad-login": "Incorrect username or password.",
    "no-reservation-asked": "Please provide a valid reservation ID or user ID",
    "no-transfer": "No connecting flights that meet the criteria were found.",
    "authentication": "Authentication failed. Please check your user ID and password.",
    "bad-payment": "Invalid payment method",
    "cash-short": "Your cash balance is insufficient. Please consider using another payment method.",
    "bank-short": "Your bank balance is insufficient. Please consider using another payment method.",
    "booked": "Booking successful. Reservation ID: {id}. Total cost: {cost} yuan (including baggage fees).",
    "modify-no-reservation": "Reservation not found or user ID does not match.",
    "modify-no-flight": "Flight information not found.",
    "modify-no-user": "User information not found.",
    "flight-changed": "Flight number has been changed.",
    "flight-mismatch": "Flight change failed: Invalid new flight number or destination does not match.",
    "cabin-paid": "Cabin change successful. Price difference paid: {amount}.",
    "cabin-short": "Insufficient balance to pay the cabin price difference.",
    "cabin-refund": "Cabin change successful. Price difference refunded: {amount}.",
    "baggage-paid": "Baggage has been added. Additional fee to be paid: {amount}.",
    "baggage-short": "Insufficient balance to pay the additional baggage fees.",
    "modified-free": "Modification completed with no additional fees.",
    "cancel-no-user": "Invalid user ID.",
    "cancel-no-reservation": "Invalid reservation ID or it does not belong to the user.",
    "cancel-no-flight": "Invalid flight information.",
    "cancel-used": "The flight segment has been used and cannot be canceled.",
    "airline-reason": "The airline has canceled the flight.",
    "cancel-airline": (
        "The flight has been canceled. Your reservation will be canceled free of charge, "
        "and {amount} yuan has been refunded."
    ),
    "cancel-early": (
        "More than 24 hours before departure. Free cancellation successful, {amount} yuan has been refunded."
    ),
    "cancel-late": (
        "Less than 24 hours before departure. A cancellation fee of {fee} yuan has been deducted, "
        "and {amount} yuan has been refunded."
    ),
    "clean-no-flight": "Flight does not exist or is not available.",
    "clean-no-cabin": "Unknown cabin.",
}
