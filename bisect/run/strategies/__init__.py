"""How one line is searched: what to measure next, on what is counted and on CPU time, alone and with many builders."""
