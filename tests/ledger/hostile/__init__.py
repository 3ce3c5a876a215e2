"""Hostile tests of the ledger: crashes, races, faults, tampering, and what an attacker may learn."""
