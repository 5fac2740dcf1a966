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

/** The digits of a number in two parts: those above the noise, and those below. */
export function parts(value, width) {
  const exact = /^-?\d+(\.\d+)?$/.test(value) && typeof value === "string"; // a decimal, all of whose digits count
  if (!exact && (typeof value !== "number" || !Number.isFinite(value))) return [String(value ?? ""), ""];
  const grouped = () => value.replace(/^-?\d+/, (whole) => whole.replace(/\B(?=(\d{3})+$)/g, ","));
  if (!(width > 0) || !Number.isFinite(width)) return [exact ? grouped() : value.toLocaleString("en", { maximumFractionDigits: 6 }), ""];
  const place = Math.floor(Math.log10(width));
  const shown = decimals(value, width);
  const text = exact ? grouped() : value.toLocaleString("en", { minimumFractionDigits: shown, maximumFractionDigits: shown });
  let grey = place > 0 ? place : 0; // digits before the point that noise has changed
  let cut = text.length;
  const point = text.indexOf(".");
  if (place > 0) {
    cut = point < 0 ? text.length : point;
    while (grey > 0 && cut > 0) {
      cut -= 1;
      if (/\d/.test(text[cut])) grey -= 1;
    }
  } else if (point >= 0) {
    cut = Math.min(text.length, point + 1 - place);
  }
  return /\d/.test(text.slice(0, cut)) ? [text.slice(0, cut), text.slice(cut)] : ["", text];
}

/** How far a value may be off, on the side that is farther. */
export function width(row, name) {
  const [low, high] = [row[`${name}_lower`], row[`${name}_upper`]];
  if (low === null || high === null) return Infinity;
  return low === undefined ? undefined : Math.max(row[name] - low, high - row[name]);
}
