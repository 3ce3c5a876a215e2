"""What every part of the ledger is built from: amounts, entries, the store's interface, addresses."""

from privet.ledger.base.amounts import (
    add_sums,
    largest,
    minus_sums,
    most_sums,
    plain_sums,
    read_sums,
    sums_text,
    total_sums,
)
from privet.ledger.base.entry import (
    ADMIN,
    DATASET,
    GENESIS,
    KINDS,
    SIGNED,
    Entry,
    canonical,
    clean_name,
    clean_text,
    hash_of,
    linked,
    object_text,
)
from privet.ledger.base.secret import SECRET_BYTES, secret_beside
from privet.ledger.base.signals import HeldSignals, give_way
from privet.ledger.base.store import Draft, Held, Reader, Store, Txn, abandon, acquire, locked
from privet.ledger.base.url import Address, parse_url, secrets_for

__all__ = [
    "ADMIN",
    "DATASET",
    "GENESIS",
    "KINDS",
    "SECRET_BYTES",
    "SIGNED",
    "Address",
    "Draft",
    "Entry",
    "Held",
    "HeldSignals",
    "Reader",
    "Store",
    "Txn",
    "abandon",
    "acquire",
    "add_sums",
    "canonical",
    "clean_name",
    "clean_text",
    "give_way",
    "hash_of",
    "largest",
    "linked",
    "locked",
    "minus_sums",
    "most_sums",
    "object_text",
    "parse_url",
    "plain_sums",
    "read_sums",
    "secret_beside",
    "secrets_for",
    "sums_text",
    "total_sums",
]
