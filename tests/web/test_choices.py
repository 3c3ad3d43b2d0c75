"""What the forms offer."""

import re

import pytest
from flask.testing import FlaskClient

pytestmark = pytest.mark.xdist_group("known")


@pytest.mark.parametrize("address", ["/start", "/comparisons/new"])
def test_each_test_is_offered_once_under_all_engines_that_have_it(browser: FlaskClient, address: str) -> None:
    page = browser.get(f"{address}?tests=point-query&tests=seekrandom").text
    _, _, rest = page.partition('<select name="tests"')
    listed = rest.partition("</select>")[0]
    offered = re.findall(r'<option value="([^"]+)"', listed)
    assert len(offered) == len(set(offered)) > 50
    assert {"mysql, mariadb: point queries", "rocksdb, minikv: writes"} <= set(re.findall(r'label="([^"]+)"', listed))
    chosen = re.findall(r'<option value="([^"]+)"[^>]* selected>', listed)
    assert chosen == (["seekrandom", "point-query"] if address == "/start" else [])
