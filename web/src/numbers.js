// Numbers as people read them: what noise has changed is there, but grey.

/** An amount with as many digits as help. */
export function rounded(value, digits = 3) {
  if (value === null || value === undefined || Number.isNaN(Number(value))) return "?";
  const number = Number(value);
  if (number !== 0 && (Math.abs(number) < 1e-4 || Math.abs(number) >= 1e15)) return number.toExponential(digits - 1);
  return number.toLocaleString("en", { maximumSignificantDigits: Math.max(digits, Math.ceil(Math.log10(Math.abs(number) + 1))) });
}

/** After the point a value has as many digits as two of its width. */
const decimals = (value, width) => Math.min(12, Math.max(0, Number.isInteger(value) ? 0 : 1 - Math.floor(Math.log10(width))));

/** Where the exact number lies, to three digits of the longer side: rounded outward, so that it holds what it held. */
export function interval(value, low, high) {
  const [below, above] = [low === null ? Infinity : value - low, high === null ? Infinity : high - value];
  const longest = Math.max(0, ...[below, above].filter(Number.isFinite));
  const digits = longest > 0 ? Math.min(20, Math.max(0, 2 - Math.floor(Math.log10(longest)))) : 0;
  const written = (number, roundingMode) => number.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits, roundingMode });
  if (Number.isFinite(above + below) && Math.abs(above - below) <= 1e-9 * (above + below)) return `± ${written(longest + (Number.isInteger(value) ? 0 : 0.5 * 10 ** -decimals(value, longest)), "ceil")}`;
  return `${low === null ? "−∞" : written(low, "floor")} to ${high === null ? "∞" : written(high, "ceil")}`;
}

/** The digits of a number in two parts: those above the first that noise reaches, which has the place of the width's leading one, and the rest. */
export function parts(value, width) {
  const exact = /^-?\d+(\.\d+)?$/.test(value) && typeof value === "string"; // a decimal, all of whose digits count
  if (!exact && (typeof value !== "number" || !Number.isFinite(value))) return [String(value ?? ""), ""];
  const digits = width > 0 && Number.isFinite(width) ? decimals(value, width) : 6;
  const options = { minimumFractionDigits: digits < 6 ? digits : 0, maximumFractionDigits: digits };
  const text = exact ? value.replace(/^-?\d+/, (whole) => whole.replace(/\B(?=(\d{3})+$)/g, ",")) : value.toLocaleString("en", options);
  if (!(width > 0)) return [text, ""];
  const reached = Math.floor(Math.log10(width));
  let place = text.split(".")[0].replace(/\D/g, "").length;
  const first = [...text].findIndex((character) => /\d/.test(character) && --place <= reached);
  const sure = text.slice(0, first < 0 ? text.length : first);
  return /[1-9]/.test(sure) ? [sure, text.slice(sure.length)] : ["", text];
}

/** Whether a row's interval of a column is all that is declared anyway. */
export const blank = (answer, column, row) => (column.no_information ?? []).some((at) => answer.rows[at] === row);

/** How far a value may be off, on the side that is farther. */
export function width(row, name) {
  const [low, high] = [row[`${name}_lower`], row[`${name}_upper`]];
  if (low === null || high === null) return Infinity;
  return low === undefined ? undefined : Math.max(row[name] - low, high - row[name]);
}
