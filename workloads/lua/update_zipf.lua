-- UPDATE c WHERE id=?, with a Zipf distribution of ids: the row n is asked for in proportion to n ^ -exponent.
-- Debian's sysbench does not know this distribution, and with it the stock script cannot be told so.

local common = require("cpubisect")

common.declare({exponent = {"How much more often the first rows are asked for", 0.8}})

local draw

-- Rejection-inversion (Hörmann and Derflinger, 1996): inverts the integral of the density's hull, and rejects few.
local function zipf(values, exponent)
   local rest = 1 - exponent
   local harmonic = math.abs(rest) < 1e-9

   local function density(x)
      return math.exp(-exponent * math.log(x))
   end
   local function integral(x)
      return harmonic and math.log(x) or (math.exp(rest * math.log(x)) - 1) / rest
   end
   local function inverse(y)
      return harmonic and math.exp(y) or math.exp(math.log(math.max(0, 1 + y * rest)) / rest)
   end

   local low = integral(1.5) - 1
   local high = integral(values + 0.5)
   local accepted = 2 - inverse(integral(2.5) - density(2))

   return function(uniform)
      while true do
         local y = high + uniform() * (low - high)
         local x = inverse(y)
         local value = math.min(values, math.max(1, math.floor(x + 0.5)))
         if value - x <= accepted or y >= integral(value + 0.5) - density(value) then
            return value
         end
      end
   end
end

local function text(name)
   return string.format("UPDATE %s SET c=? WHERE id=?", name)
end

local function kinds()
   return {common.TEXT, common.INT}
end

local function fill(parameters)
   draw = draw or zipf(sysbench.opt.table_size, sysbench.opt.exponent)
   parameters[1]:set_rand_str(common.C_TEMPLATE)
   parameters[2]:set(draw(sysbench.rand.uniform_double))
end

common.one_statement(text, kinds, fill)
