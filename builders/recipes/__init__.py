"""What a version needs to be built: the matrix's rules, and the compilers of this host."""
