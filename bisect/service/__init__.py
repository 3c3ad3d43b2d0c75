"""From what the user asks to a bisection that runs."""
