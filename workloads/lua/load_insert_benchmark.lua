-- Brings pi1, pi2, … to where a step of the insert benchmark leaves them, always with the same rows: l.i0, l.x, l.i1
-- or l.i2. Random writes replace a fifth of the rows in l.i1 and a quarter as many in l.i2.

local common = require("cpubisect")
local benchmark = require("insert_benchmark")

common.declare({through = {"The last step that is done: l.i0, l.x, l.i1 or l.i2", "l.i2"}})

-- sysbench's own generator follows --rand-seed only while a test runs, not while it prepares.
local SEED = 1
local LOADED_PER_COMMIT = 100

local STEPS = {
   {name = "l.i0"},
   {name = "l.x"},
   {name = "l.i1", share = 1 / 5, rows_per_commit = 50},
   {name = "l.i2", share = 1 / 20, rows_per_commit = 5},
}

local function load(connection, name, rows)
   for first = 1, rows, LOADED_PER_COMMIT do
      benchmark.insert(connection, name, first, math.min(LOADED_PER_COMMIT, rows - first + 1), math.random)
   end
end

local function replace(connection, name, rows, rows_per_commit)
   local least, largest = benchmark.keys(connection, name)
   for _ = 1, math.floor(rows / rows_per_commit) do
      benchmark.insert(connection, name, largest + 1, rows_per_commit, math.random)
      benchmark.delete(connection, name, least, rows_per_commit)
      least = least + rows_per_commit
      largest = largest + rows_per_commit
   end
end

local function step(connection, name, rows, one)
   if one.name == "l.i0" then
      benchmark.create(connection, name)
      load(connection, name, rows)
   elseif one.name == "l.x" then
      benchmark.add_indexes(connection, name)
   else
      replace(connection, name, rows * one.share, one.rows_per_commit)
   end
end

function prepare()
   math.randomseed(SEED)
   local connection = sysbench.sql.driver():connect()
   for n = 1, sysbench.opt.tables do
      for _, one in ipairs(STEPS) do
         step(connection, benchmark.table_of(n - 1), sysbench.opt.table_size, one)
         if one.name == sysbench.opt.through then
            break
         end
      end
   end
   connection:disconnect()
end
