"""What a user sets is checked before anything is built."""

import pytest

from cpubisect.base.engine import Engine
from cpubisect.base.errors import UserError
from cpubisect.builders.recipes.matrix import Matrix
from cpubisect.workloads.catalog import find_test, settings
from cpubisect.workloads.catalog import tests_of as all_of


@pytest.mark.parametrize(
    ("engine", "test", "given", "says"),
    [
        ("rocksdb", "readseq", {"rows": "300000"}, "same number of passes over all rows"),
        ("rocksdb", "seekrandom", {"rows": "abc"}, "rows must be a number from 1"),
        ("rocksdb", "seekrandom", {"repeats": "0"}, "repeats must be a number from 1"),
        ("rocksdb", "seekrandom", {"load": "fillseq:x"}, "NAME:WRITES"),
        ("rocksdb", "seekrandom", {"clock_ops": "9,3"}, "LOW,HIGH"),
        ("rocksdb", "readwhilewriting", {"background_writes": "some"}, "background_writes must be a number"),
        ("mysql", "point-query", {"queries": "many"}, "queries is a whole number"),
        ("mysql", "delete", {"rows": "5000"}, "the test removes"),
        ("mysql", "delete", {"tables": "2"}, "test delete has one table"),
        ("mysql", "delete", {"clients": "16", "rows": "9000"}, "the test removes"),
        ("mysql", "read-only", {"range-size": "many"}, "range-size is a whole number"),
        ("mysql", "random-points-10", {"random-points": "0"}, "random-points is a whole number"),
        ("mysql", "update-zipf", {"zipf-exponent": "steep"}, "zipf-exponent is a number above 0"),
        ("mysql", "update-zipf", {"zipf-exponent": "0"}, "zipf-exponent is a number above 0"),
        ("mysql", "update-zipf", {"distribution": "uniform"}, "no parameter 'distribution'"),
        ("mysql", "l.i1", {"rows-per-commit": "0"}, "rows-per-commit is a whole number"),
        ("mysql", "l.i1", {"tables": "2"}, "no parameter 'tables'"),
        ("mysql", "qr100", {"writes-per-second": "fast"}, "writes-per-second is a whole number"),
        ("mysql", "qp100", {"rows-per-query": "-1"}, "rows-per-query is a whole number"),
    ],
)
def test_a_value_that_makes_no_sense_is_refused(engine: str, test: str, given: dict[str, str], says: str) -> None:
    found = Matrix.load().engine(engine)
    with pytest.raises(UserError, match=says):
        settings(found, [find_test(found, test)], given)


@pytest.mark.parametrize(
    ("engine", "test", "name", "says"),
    [
        ("mysql", "point-query", "mysqld.skip_networking", "setting mysqld.skip_networking is about the network"),
        ("mysql", "point-query", "mysqld.secure-file-p", "can stand for secure_file_priv, which is about files"),
        ("mysql", "point-query", "mysqld.loose_plugin_dir", "is about plugins"),
        ("mysql", "point-query", "mysqld.no_such_variable", "no server variable known to be harmless"),
        ("rocksdb", "seekrandom", "wal_dir", "is about files"),
        ("rocksdb", "seekrandom", "run.env_uri", "is about files"),
    ],
)
def test_a_setting_that_could_do_more_than_change_the_measurement_needs_leave(
    engine: str, test: str, name: str, says: str
) -> None:
    found = Matrix.load().engine(engine)
    with pytest.raises(UserError, match=says) as refused:
        settings(found, [find_test(found, test)], {name: "1"})
    assert "--unsafe-settings" in refused.value.hint
    assert settings(found, [find_test(found, test)], {name: "1"}, unsafe=True)[test][name] == "1"


@pytest.mark.parametrize("engine", Matrix.load().engines(), ids=lambda engine: engine.name)
def test_what_the_tests_set_themselves_makes_sense(engine: Engine) -> None:
    for test in all_of(engine):
        assert settings(engine, [test], {})[test.name] == test.parameters
