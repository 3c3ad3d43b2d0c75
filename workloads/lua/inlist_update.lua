-- UPDATE c WHERE id IN (random points), one value for all of them.

local common = require("cpubisect")

common.declare({points = {"Number of values in the IN list", 10}})

local function text(name)
   return string.format("UPDATE %s SET c=? WHERE id IN (%s)", name, common.marks(sysbench.opt.points))
end

local function kinds()
   local all = common.integers(sysbench.opt.points + 1)
   all[1] = common.TEXT
   return all
end

local function fill(parameters)
   parameters[1]:set_rand_str(common.C_TEMPLATE)
   for i = 1, sysbench.opt.points do
      parameters[i + 1]:set(common.any_row())
   end
end

common.one_statement(text, kinds, fill)
