-- DELETE of one existing row after another, in scattered order: no statement misses, whatever was deleted before,
-- as long as the rows that each client deletes in all, times the clients, are no more than the table has.

local common = require("cpubisect")

common.declare({
   first = {"Number of rows that each client has deleted in earlier runs", 0},
   share = {"Number of rows that each client deletes, 0 for no limit", 0},
})

local function common_divisor(a, b)
   while b ~= 0 do
      a, b = b, a % b
   end
   return a
end

-- A step without a common divisor with the number of rows visits every row once; near the golden section it scatters.
local function scattering_step(rows)
   local step = math.max(1, math.floor(rows * 0.6180339887))
   while common_divisor(step, rows) ~= 1 do
      step = step + 1
   end
   return step
end

local done = 0
local step

local function text(name)
   return string.format("DELETE FROM %s WHERE id=?", name)
end

local function kinds()
   return common.integers(1)
end

local function fill(parameters)
   local rows = sysbench.opt.table_size
   step = step or scattering_step(rows)
   local turn = (sysbench.opt.first + done) * sysbench.opt.threads + sysbench.tid
   done = done + 1
   parameters[1]:set(1 + turn * step % rows)
end

common.one_statement(text, kinds, fill)

-- The clients take turns of a fixed order, so each must know how far it comes: how events would fall to them is chance.
local delete_one = event

function event()
   local share = sysbench.opt.share
   if share > 0 and done >= share then
      return true
   end
   delete_one()
end
