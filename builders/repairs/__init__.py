"""Trees that do not compile: what the compiler says, and the includes, edits and flags that mend it."""
