-- SELECT columns WHERE key BETWEEN a random value and the one range_size - 1 further.

local common = require("cpubisect")

common.declare({
   columns = {"Columns or aggregate to select", "c"},
   key = {"Column of the range: id or k", "id"},
   range_size = {"Number of values in the range", 100},
})

local function text(name)
   return string.format("SELECT %s FROM %s WHERE %s BETWEEN ? AND ?", sysbench.opt.columns, name, sysbench.opt.key)
end

local function kinds()
   return common.integers(2)
end

local function fill(parameters)
   -- A range that begins too near the end would be cut short.
   local last = math.max(1, sysbench.opt.table_size - sysbench.opt.range_size + 1)
   local first = sysbench.rand.default(1, last)
   parameters[1]:set(first)
   parameters[2]:set(first + sysbench.opt.range_size - 1)
end

common.one_statement(text, kinds, fill)
