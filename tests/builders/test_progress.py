from cpubisect.builders.trees.dependencies import prerequisites
from cpubisect.builders.trees.progress import CompileCounter, Silence, compile_lines

COMPILE = "mkdir -p db && ccache g++ -O2 -c db/a.cc -o db/a.o\n"


def test_plain_compilations_are_counted() -> None:
    counter = CompileCounter(expected=3)
    assert counter.feed("checking\n") is None
    assert counter.feed(COMPILE) == "compiling 1/3"
    assert counter.feed(COMPILE * 5) == "compiling 3/3"
    assert CompileCounter().feed(COMPILE * 2) == "compiling 2"
    assert compile_lines(f"{COMPILE}g++ a.o -o a\ngcc -o b.o -c b.c\n") == 2


def test_ninja_and_cmake_count_themselves() -> None:
    assert CompileCounter().feed("[1/20] Building\n[12/20] Building CXX object\n") == "compiling 12/20"
    counter = CompileCounter()
    counter.feed("[12/20] Building CXX object\n")
    assert (counter.done, counter.expected) == (12, 20)
    assert CompileCounter().feed("[ 42%] Building CXX object a.o\n") == "compiling 42 %"


def test_output_and_work_break_the_silence() -> None:
    silence = Silence(limit_s=100.0, since=0.0, size=0)
    assert not silence.suspicious(49.0, 0)
    assert not silence.suspicious(51.0, 10)
    assert not silence.suspicious(100.0, 10)
    assert silence.suspicious(102.0, 10)
    assert not silence.lasts(102.0, 5.0)
    assert silence.suspicious(140.0, 10)
    assert not silence.lasts(140.0, 30.0)
    assert not silence.suspicious(180.0, 10)
    assert silence.suspicious(192.0, 10)
    assert not silence.lasts(192.0, 30.0)
    assert not silence.lasts(239.0, 30.1)
    assert silence.lasts(241.0, 30.2)


def test_dependency_files() -> None:
    text = "db/a.o: db/a.cc include/a.h \\\n util/with\\ space.h /usr/include/x.h\n\ninclude/a.h:\n"
    assert prerequisites(text) == ["db/a.cc", "include/a.h", "util/with space.h", "/usr/include/x.h"]
