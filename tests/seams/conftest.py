"""Stores of every kind, as the ledger's own tests have them."""

from tests.ledger.conftest import durable as durable, place as place, postgres_url as postgres_url
