-- l.x: creates the three secondary indexes in one ALTER; another drops them, so that the next event finds none.

local common = require("cpubisect")
local benchmark = require("insert_benchmark")

common.declare({})

local connection

function thread_init()
   connection = sysbench.sql.driver():connect()
end

function event()
   local name = benchmark.table_of(sysbench.tid)
   benchmark.add_indexes(connection, name)
   benchmark.drop_indexes(connection, name)
end

function thread_done()
   connection:disconnect()
end
