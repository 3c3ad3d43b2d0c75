-- Reads every row of a table and returns none: the predicate on a length never holds. Not prepared, one table a thread.

local common = require("cpubisect")

common.declare({})

local connection

function thread_init()
   connection = sysbench.sql.driver():connect()
end

function event()
   local n = sysbench.tid % sysbench.opt.tables + 1
   connection:query(string.format("SELECT * FROM sbtest%d WHERE LENGTH(c) < 0", n))
end

function thread_done()
   connection:disconnect()
end
