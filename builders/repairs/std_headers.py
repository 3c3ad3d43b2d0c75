"""Which standard header declares a name, for compilers that do not say it themselves."""

_C_LIBRARY = {
    "cassert": "assert",
    "cctype": "isalnum isalpha isdigit islower isspace isupper isxdigit tolower toupper",
    "cerrno": "errno",
    "cinttypes": "PRIu64 PRId64 PRIx64 PRIu32 PRId32",
    "climits": "CHAR_BIT INT_MAX INT_MIN UINT_MAX LONG_MAX LONG_MIN ULONG_MAX LLONG_MAX LLONG_MIN ULLONG_MAX PATH_MAX",
    "cmath": "ceil fabs floor isfinite isinf isnan log2 pow round sqrt",
    "cstdarg": "va_list va_start va_end va_copy",
    "cstddef": "max_align_t offsetof ptrdiff_t size_t NULL",
    "cstdint": "int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t intptr_t uintptr_t intmax_t "
    "uintmax_t INT8_MAX INT16_MAX INT32_MAX INT64_MAX INT64_MIN UINT8_MAX UINT16_MAX UINT32_MAX UINT64_MAX SIZE_MAX",
    "cstdio": "FILE fclose fflush fopen fprintf fputs fread fwrite perror printf putchar puts snprintf sprintf stderr "
    "stdout vsnprintf EOF",
    "cstdlib": "abort abs atoi atol atoll calloc exit free getenv malloc posix_memalign qsort rand realloc srand "
    "strtod strtol strtoll strtoul strtoull EXIT_FAILURE EXIT_SUCCESS",
    "cstring": "memchr memcmp memcpy memmove memset strcat strchr strcmp strcpy strdup strerror strlen strncmp strncpy "
    "strnlen strrchr strstr",
    "ctime": "clock_t clock_gettime gmtime localtime mktime strftime time_t timespec tm",
}

_CXX_LIBRARY = {
    "algorithm": "all_of any_of binary_search copy copy_if count count_if equal fill fill_n find find_if for_each "
    "lower_bound max max_element min min_element minmax none_of nth_element partition remove remove_if replace reverse "
    "rotate shuffle sort stable_sort swap_ranges transform unique upper_bound",
    "any": "any any_cast",
    "array": "array",
    "atomic": "atomic atomic_bool atomic_flag atomic_thread_fence memory_order memory_order_acquire "
    "memory_order_relaxed memory_order_release memory_order_seq_cst",
    "bitset": "bitset",
    "chrono": "chrono",
    "condition_variable": "condition_variable condition_variable_any cv_status",
    "deque": "deque",
    "exception": "current_exception exception exception_ptr rethrow_exception terminate",
    "fstream": "basic_fstream basic_ifstream basic_ofstream fstream ifstream ofstream",
    "functional": "bind cref equal_to function greater hash less mem_fn not_equal_to placeholders ref "
    "reference_wrapper",
    "future": "async future packaged_task promise shared_future",
    "initializer_list": "initializer_list",
    "iomanip": "put_time quoted setbase setfill setprecision setw",
    "iostream": "cerr cin clog cout",
    "iterator": "advance back_inserter distance inserter istream_iterator istreambuf_iterator make_move_iterator "
    "ostream_iterator reverse_iterator",
    "limits": "numeric_limits",
    "list": "list",
    "map": "map multimap",
    "memory": "addressof allocator allocator_traits default_delete enable_shared_from_this make_shared make_unique "
    "shared_ptr static_pointer_cast unique_ptr weak_ptr",
    "mutex": "call_once lock_guard mutex once_flag recursive_mutex scoped_lock timed_mutex unique_lock",
    "new": "bad_alloc launder nothrow",
    "numeric": "accumulate gcd iota partial_sum",
    "optional": "nullopt nullopt_t make_optional optional",
    "ostream": "basic_ostream endl ostream",
    "istream": "basic_istream istream",
    "queue": "priority_queue queue",
    "random": "mt19937 mt19937_64 random_device uniform_int_distribution uniform_real_distribution normal_distribution",
    "set": "multiset set",
    "shared_mutex": "shared_lock shared_mutex shared_timed_mutex",
    "sstream": "basic_istringstream basic_ostringstream basic_stringstream istringstream ostringstream stringbuf "
    "stringstream",
    "stack": "stack",
    "stdexcept": "domain_error invalid_argument length_error logic_error out_of_range overflow_error range_error "
    "runtime_error underflow_error",
    "string": "basic_string char_traits getline stod stoi stol stoll stoul stoull string to_string u16string wstring",
    "string_view": "basic_string_view string_view",
    "system_error": "errc error_category error_code generic_category system_category system_error",
    "thread": "this_thread thread",
    "tuple": "apply forward_as_tuple get make_tuple tie tuple tuple_element tuple_size",
    "type_traits": "conditional decay decay_t enable_if enable_if_t false_type integral_constant invoke_result "
    "is_base_of is_convertible is_enum is_integral is_pointer is_same is_same_v is_trivially_copyable is_unsigned "
    "make_signed make_unsigned remove_cv remove_reference true_type underlying_type void_t",
    "typeindex": "type_index",
    "typeinfo": "bad_cast type_info",
    "unordered_map": "unordered_map unordered_multimap",
    "unordered_set": "unordered_multiset unordered_set",
    "utility": "as_const declval exchange forward index_sequence integer_sequence make_index_sequence make_pair move "
    "pair piecewise_construct swap",
    "variant": "get_if holds_alternative monostate variant visit",
    "vector": "vector",
}

_C = {name: header for header, names in _C_LIBRARY.items() for name in names.split()}
_CXX = {name: header for header, names in _CXX_LIBRARY.items() for name in names.split()}
_C_ONLY = {"bool": "<stdbool.h>", "true": "<stdbool.h>", "false": "<stdbool.h>"}


def standard_header(name: str, *, c: bool) -> str | None:
    """The standard header, in brackets, that declares `name` (without `std::`), in C or C++; None if not known.

    Where several headers do, the one that the C++ standard lists it under first.
    """
    if c and name in _C_ONLY:
        return _C_ONLY[name]
    if name in _C:
        header = _C[name]
        return f"<{header.removeprefix('c')}.h>" if c else f"<{header}>"
    return None if c or name not in _CXX else f"<{_CXX[name]}>"


def is_c_name(name: str) -> bool:
    """True for names of the C library, which are used without `std::` as often as with it."""
    return name in _C
