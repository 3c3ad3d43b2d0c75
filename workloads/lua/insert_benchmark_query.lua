-- qr: one of three range queries, each of which is answered from a secondary index; qp: rows by an IN list of keys.

local common = require("cpubisect")
local benchmark = require("insert_benchmark")

common.declare({
   kind = {"What to ask for: range or point", "range"},
   rows_per_query = {"Rows of each query", 10},
})

local connection
local name
local least
local largest

-- A range that begins too near the end would be cut short.
local PART_OF_VALUES = 0.95

local function range()
   local index = benchmark.INDEXES[sysbench.rand.uniform(1, #benchmark.INDEXES)]
   local columns = table.concat(index.columns, ",")
   return string.format("SELECT %s FROM %s FORCE INDEX (%s) WHERE %s>=%d ORDER BY %s LIMIT %d", columns, name,
      index.name, index.columns[1], sysbench.rand.uniform(1, index.values * PART_OF_VALUES), columns,
      sysbench.opt.rows_per_query)
end

local function point()
   local keys = {}
   for i = 1, sysbench.opt.rows_per_query do
      keys[i] = sysbench.rand.uniform(least, largest)
   end
   return string.format("SELECT * FROM %s WHERE transactionid IN (%s)", name, table.concat(keys, ","))
end

function thread_init()
   connection = sysbench.sql.driver():connect()
   name = benchmark.table_of(sysbench.tid)
   least, largest = benchmark.keys(connection, name)
end

function event()
   connection:query(sysbench.opt.kind == "range" and range() or point())
end

function thread_done()
   connection:disconnect()
end
