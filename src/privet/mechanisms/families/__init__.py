"""What several mechanisms share by nature: noise on a number, choices, answers, records, columns, vectors."""
