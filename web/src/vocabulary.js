// The words that a question may have: these are completed, and no others. A test holds each to a question that is answered.
export const KEYWORDS =
  "select distinct from join left right full cross on using where group by having order desc limit offset fetch first rows only union all with as case when then else end and or not in between like ilike is null true exists filter over partition within cast extract interval qualify";

export const FUNCTIONS =
  "count sum avg median min max stddev stddev_pop variance var_pop var_samp percentile_cont mode bool_and bool_or count_if corr covar_pop covar_samp regr_slope regr_intercept owner_sum owner_count coalesce greatest least round sqrt ln exp power lower upper length position concat split_part date_trunc row_number rank";

export const TYPES = "date integer";
