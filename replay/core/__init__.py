"""Data and contracts: no files, no network, no clock."""
