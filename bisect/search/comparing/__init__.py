"""PURE: what a comparison of versions asks, in what order it is measured, and the relative values that come out."""
