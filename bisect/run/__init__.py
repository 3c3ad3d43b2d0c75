"""The orchestration of one bisection: ends, search, confirmation."""
