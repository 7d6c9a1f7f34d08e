"""Tests of the servers, over real loopback ports."""
