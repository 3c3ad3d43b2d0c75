-- l.i0: inserts rows in the order of their keys, a number of them in each statement and transaction.

local common = require("cpubisect")
local benchmark = require("insert_benchmark")

common.declare({rows_per_commit = {"Rows of each INSERT", 100}})

local connection
local name
local largest

function thread_init()
   connection = sysbench.sql.driver():connect()
   name = benchmark.table_of(sysbench.tid)
   _, largest = benchmark.keys(connection, name)
end

function event()
   benchmark.insert(connection, name, largest + 1, sysbench.opt.rows_per_commit, sysbench.rand.uniform)
   largest = largest + sysbench.opt.rows_per_commit
end

function thread_done()
   connection:disconnect()
end
