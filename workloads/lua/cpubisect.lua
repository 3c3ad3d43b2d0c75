-- What the scripts beside this one share: options, one connection per thread, statements prepared once per table.

local M = {}

M.INT = "int"
M.TEXT = "text"

-- Columns c and pad hold groups of eleven digits, as in every table of sysbench: 119 and 59 characters.
M.C_GROUPS = 10
M.PAD_GROUPS = 5
M.C_TEMPLATE = string.rep("###########-", M.C_GROUPS - 1) .. "###########"

local C_LENGTH = 120

function M.declare(options)
   if sysbench.cmdline.command == nil then
      error("a command is required, prepare or run")
   end
   options.table_size = {"Rows of each table", 10000}
   options.tables = {"Number of tables", 1}
   sysbench.cmdline.options = options
end

-- Makes the callbacks of a test whose event is one statement, prepared for each table: `text(table)` is its SQL,
-- `kinds` are the kinds of its parameters, `fill(parameters)` sets their values for one event.
function M.one_statement(text, kinds, fill)
   local connection
   local statements = {}
   local parameters = {}

   function thread_init()
      connection = sysbench.sql.driver():connect()
      local wanted = kinds()
      for n = 1, sysbench.opt.tables do
         local statement = connection:prepare(text("sbtest" .. n))
         local bound = {}
         for i, kind in ipairs(wanted) do
            if kind == M.INT then
               bound[i] = statement:bind_create(sysbench.sql.type.INT)
            else
               bound[i] = statement:bind_create(sysbench.sql.type.CHAR, C_LENGTH)
            end
         end
         statement:bind_param(unpack(bound))
         statements[n] = statement
         parameters[n] = bound
      end
   end

   function event()
      local n = sysbench.rand.uniform(1, sysbench.opt.tables)
      fill(parameters[n])
      statements[n]:execute()
   end

   function thread_done()
      for _, statement in ipairs(statements) do
         statement:close()
      end
      connection:disconnect()
   end
end

-- `count` kinds, all integers.
function M.integers(count)
   local kinds = {}
   for i = 1, count do
      kinds[i] = M.INT
   end
   return kinds
end

-- `count` question marks for an IN list.
function M.marks(count)
   return string.rep("?,", count - 1) .. "?"
end

function M.any_row()
   return sysbench.rand.default(1, sysbench.opt.table_size)
end

return M
