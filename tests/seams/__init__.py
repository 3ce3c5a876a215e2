"""What whole algorithms need from the core."""
