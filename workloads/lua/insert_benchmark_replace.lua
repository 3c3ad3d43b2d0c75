-- l.i1 and l.i2: inserts rows at the end of the keys, then deletes as many of the oldest, each in one statement.

local common = require("cpubisect")
local benchmark = require("insert_benchmark")

common.declare({rows_per_commit = {"Rows of each INSERT and DELETE", 50}})

local connection
local name
local least
local largest

function thread_init()
   connection = sysbench.sql.driver():connect()
   name = benchmark.table_of(sysbench.tid)
   least, largest = benchmark.keys(connection, name)
end

function event()
   local rows = sysbench.opt.rows_per_commit
   benchmark.insert(connection, name, largest + 1, rows, sysbench.rand.uniform)
   benchmark.delete(connection, name, least, rows)
   largest = largest + rows
   least = least + rows
end

function thread_done()
   connection:disconnect()
end
