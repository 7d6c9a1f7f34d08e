"""Bytes at rest: envelopes, the LMDB snapshot store, frozen archives."""
