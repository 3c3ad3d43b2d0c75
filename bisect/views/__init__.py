"""What is known of a bisection, gathered and typed: for report, page and terminal alike."""
