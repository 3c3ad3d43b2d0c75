"""The API and the forms are sent what nobody should send: every answer says what is wrong, none is an error of ours.

The same requests in every run; `test_api.py` makes others from the API's description.
"""

import random
import re
import time
from collections import Counter
from pathlib import Path
from urllib.parse import quote

import pytest
from flask import Flask
from odd import TEXTS, mutated
from questions import question
from web_home import TOKEN, application

from cpubisect.base.home import Home
from cpubisect.example.history import Generated
from cpubisect.records.store import Store
from cpubisect.search.events import Notice

LEAST, MOST, MOST_S = 30, 600, 2.5
"""Requests of each kind: at least and at most, and seconds after which no more are made."""

HEADERS = {"Authorization": f"Bearer {TOKEN}", "Host": "localhost"}
BEARER = {**HEADERS, "Content-Type": "application/json"}


@pytest.fixture
def filled(home: Path) -> Path:
    """A home directory with a bisection that waits."""
    store = Store(Home.open().store)
    store.create_bisection(question(), {}, "queued")
    store.close()
    return home


def addresses(app: Flask, method: str, chance: random.Random) -> list[str]:
    """An address of each rule that takes a method, odd in all its parts; not of those that go on for ever."""
    rules = [str(rule) for rule in app.url_map.iter_rules() if method in (rule.methods or ())]
    holes = [re.sub("<[^>]+>", lambda _: odd(chance, "1", "2"), rule) for rule in rules if "stream" not in rule]
    return [address.replace("//", "/%20/") for address in holes]


def odd(chance: random.Random, *usual: str) -> str:
    """A part of an address."""
    return quote(chance.choice((*usual * 8, *TEXTS))[:2000], safe="")


def enough(made: int, began: float) -> bool:
    return made >= MOST or (made >= LEAST and time.monotonic() - began > MOST_S)


def test_no_document_that_is_sent_is_an_error_of_ours(filled: Path, example: Generated) -> None:
    client = application(filled, token=TOKEN, repositories=(f"kv={example.path}",)).test_client()
    valid = {
        "repository": "kv",
        "good": "v1.0.0",
        "bad": "v1.4.0",
        "tests": ["seekrandom"],
        "metric": "auto",
        "find": "regression",
        "settings": {"rows": "100"},
        "min_step": 1.0,
        "first": True,
        "both_sides": False,
        "screen": False,
        "toolchain": None,
        "flags": "pinned",
        "counter": None,
        "simulations": [],
    }
    chance, began, answers = random.Random(1), time.monotonic(), Counter[int]()
    while not enough(answers.total(), began):
        body = mutated(chance, valid)
        answer = client.post("/api/bisections", data=body, headers=BEARER)
        answers[answer.status_code] += 1
        assert answer.status_code in (201, 400, 413, 415, 422), (answer.status_code, body[:300])
        assert answer.is_json, body[:300]
        if answer.status_code != 201:
            assert answer.json["problem"]
            assert len(answer.data) < 20_000
    assert answers[422] > LEAST / 4
    assert answers[400] > 0


def test_no_address_is_an_error_of_ours(filled: Path) -> None:
    app = application(filled, token=TOKEN)
    client = app.test_client()
    chance, began, made = random.Random(2), time.monotonic(), 0
    names = ("page", "limit", "offset", "after", "test", "inside", "build", "tests", "format", "more")
    while not enough(made, began):
        address = chance.choice(addresses(app, "GET", chance))
        query = "&".join(f"{chance.choice(names)}={odd(chance, '1')}" for _ in range(chance.randrange(3)))
        answer = client.get(f"{address}?{query}", headers=HEADERS)
        made += 1
        assert answer.status_code < 500, (answer.status_code, address, query)
        answer.close()


def test_no_form_is_an_error_of_ours(filled: Path, example: Generated) -> None:
    app = application(filled, token=TOKEN, repositories=(f"kv={example.path}",))
    client = app.test_client()
    chance, began, answers = random.Random(3), time.monotonic(), Counter[int]()
    usual = {"repository": "kv", "good": "v1.0.0", "bad": "v1.4.0", "tests": "seekrandom", "versions": "v1.0.0 v1.4.0"}
    names = (*usual, "settings", "min_step", "metric", "find", "rounds", "clients", "groups", "token", "counter")
    while not enough(answers.total(), began):
        with client.session_transaction(base_url="http://localhost") as session:
            session["csrf"] = "known"
        form = {name: chance.choice(TEXTS)[:5000] for name in names if chance.random() < 0.3}
        form = {**usual, **form, "csrf": chance.choice(("known", "known", "known", *TEXTS[:20]))}
        path = chance.choice(addresses(app, "POST", chance))
        answer = client.post(path, data=form, headers={"Host": "localhost"})
        answers[answer.status_code] += 1
        assert answer.status_code < 500, (answer.status_code, path, form)
    assert answers[403] < answers.total()


@pytest.mark.parametrize("table", ["bisections", "events", "candidates"])
def test_no_page_of_a_damaged_store_is_an_error_of_ours(filled: Path, table: str) -> None:
    """Its rows hold other data than they should, which only those who read them can see."""
    column = {"bisections": "question", "events": "data", "candidates": "subject"}[table]
    path = Home(filled).store
    store = Store(path)
    store.add_event(1, Notice(text="said"))
    store.set_candidates(1, "main", [("c0", "c0", "Subject")])
    with store.writing() as connection:
        connection.execute(f"UPDATE {table} SET {column} = '[7, {{}}]'")
        connection.execute("UPDATE bisections SET host = '5' WHERE ? = 'candidates'", (table,))
    store.close()
    app = application(filled, token=TOKEN)
    client = app.test_client()
    for rule in (str(rule) for rule in app.url_map.iter_rules() if "GET" in (rule.methods or ())):
        if "stream" not in rule and "static" not in rule:
            answer = client.get(re.sub("<[^>]+>", "1", rule), headers=HEADERS)
            assert answer.status_code < 500 or (answer.status_code == 503 and b"store repair" in answer.data), rule
            answer.close()
