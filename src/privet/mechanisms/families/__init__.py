"""The common nature of several mechanisms: noise on a number, choices, answers, records, columns, vectors."""
