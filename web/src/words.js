// Errors in the words of this page: a field where Python has an argument, nothing where only a curator can help.

const HINTS = {
  parameter_invalid: (error) => (error.hint ? "Write a number, such as 0.1, 1e-6 or 1/3." : ""),
  budget_exceeded: () => "Pay less, or allow a larger error.",
  error_unpriced: ({ fields }) => `Pay in epsilon or rho${fields.by_profile ? ", or have the curator make a profile of the table" : ""}.`,
  people_frozen: () => "The curator decides that.",
  analyst_frozen: () => "The curator decides that.",
  cap_missing: () => "The curator decides that.",
};

/** What is wrong, as a whole sentence, and what can be done about it here. */
export function words(error) {
  const what = (error.what || error.message).replace(/;$/, ".").replace(/^the price (\w+)=(\S+)/, "the price of $1 $2");
  const hint = HINTS[error.code] ? HINTS[error.code](error) : (error.hint ?? "");
  return { what, hint: hint.replace(/rows_per_owner=(\d+)/g, "$1 rows each") };
}
