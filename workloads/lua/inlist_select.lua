-- SELECT columns WHERE key IN (points): random points of the whole table, or always the same adjacent ones.

local common = require("cpubisect")

common.declare({
   columns = {"Columns to select", "c"},
   key = {"Column of the IN list: id or k", "id"},
   points = {"Number of values in the IN list", 100},
   hot = {"Always the same adjacent values, from the middle of the table on", false},
})

local function text(name)
   return string.format("SELECT %s FROM %s WHERE %s IN (%s)",
      sysbench.opt.columns, name, sysbench.opt.key, common.marks(sysbench.opt.points))
end

local function kinds()
   return common.integers(sysbench.opt.points)
end

local function fill(parameters)
   local middle = math.floor(sysbench.opt.table_size / 2)
   for i = 1, sysbench.opt.points do
      parameters[i]:set(sysbench.opt.hot and middle + i or common.any_row())
   end
end

common.one_statement(text, kinds, fill)
