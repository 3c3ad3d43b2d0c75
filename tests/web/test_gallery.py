"""Pictures that are kept: the first is waited for, a newer one takes an older one's place without waiting."""

import threading

from markupsafe import Markup

from cpubisect.web.gallery import KEPT, Gallery


def test_the_first_picture_is_waited_for_and_then_kept() -> None:
    gallery, drawn = Gallery(), []

    def draw() -> Markup:
        drawn.append(1)
        return Markup("first")

    assert [gallery.show("key", 1, draw) for _ in range(3)] == ["first"] * 3
    assert len(drawn) == 1
    assert gallery.version == 0


def test_an_older_picture_is_shown_while_the_next_is_drawn_once() -> None:
    gallery, may_end, begun = Gallery(), threading.Event(), []
    gallery.show("key", 1, lambda: Markup("old"))

    def slow() -> Markup:
        begun.append(threading.current_thread())
        may_end.wait()
        return Markup("new")

    assert gallery.show("key", 2, slow) == "old"
    while not begun:
        pass
    assert gallery.show("key", 3, slow) == "old"
    may_end.set()
    begun[0].join()
    assert len(begun) == 1
    assert gallery.version == 1
    assert gallery.show("key", 2, slow) == "new"


def test_the_final_picture_is_waited_for() -> None:
    gallery = Gallery()
    gallery.show("key", 1, lambda: Markup("old"))
    assert gallery.show("key", 2, lambda: Markup("last"), final=True) == "last"


def test_a_picture_that_cannot_be_drawn_is_tried_again() -> None:
    gallery = Gallery()
    gallery.show("key", 1, lambda: Markup("old"))
    failed = threading.Event()

    def broken() -> Markup:
        failed.set()
        raise ValueError("no picture")

    hook, threading.excepthook = threading.excepthook, lambda _: None
    try:
        assert gallery.show("key", 2, broken) == "old"
        failed.wait()
        while gallery._drawing:
            pass
    finally:
        threading.excepthook = hook
    gallery.show("key", 2, lambda: Markup("new"))
    while gallery.version == 0:
        pass
    assert gallery.show("key", 2, broken) == "new"


def test_only_the_latest_are_kept() -> None:
    gallery = Gallery()
    for number in range(KEPT + 5):
        gallery.show(number, 1, lambda: Markup("x"))
    again = []
    gallery.show(0, 1, lambda: again.append(1) or Markup("y"))  # type: ignore[func-returns-value]
    assert again
