// Numbers as each language writes them. Written out here, not left to Intl: node and every browser must print the
// same characters, or the page would change when Python takes over.

/** @typedef {"es" | "en"} Language */
/** @typedef {{low: number, mid: number, high: number}} Band */

const THIN_SPACE = "\u202f";
const HARD_SPACE = "\u00a0";

/** @type {Record<Language, {decimal: string, thousands: string, dollar: string, percent: string, months: string[]}>} */
const LOCALES = {
  es: {
    decimal: ",",
    thousands: THIN_SPACE, // never a point: 10.000 is ten in Mexico
    dollar: `US$${HARD_SPACE}`, // "$" alone is a peso in Bogotá
    percent: `${HARD_SPACE}%`,
    months: ["ene", "feb", "mar", "abr", "may", "jun", "jul", "ago", "sep", "oct", "nov", "dic"],
  },
  en: {
    decimal: ".",
    thousands: ",",
    dollar: "$",
    percent: "%",
    months: ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"],
  },
};

/** The writing of numbers, dates and amounts in one language. */
export class Format {
  /** @param {Language} language */
  constructor(language) {
    this.language = language;
    this.locale = LOCALES[language];
  }

  /**
   * A number with a fixed count of decimals.
   * @param {number} value
   * @param {number} [decimals]
   */
  number(value, decimals = 0) {
    const [whole, fraction] = Math.abs(value).toFixed(decimals).split(".");
    const grouped = whole.replace(/\B(?=(\d{3})+$)/g, this.locale.thousands);
    const digits = fraction ? grouped + this.locale.decimal + fraction : grouped;
    return value < 0 && Number(digits.replace(/\D/g, "")) ? `−${digits}` : digits;
  }

  /**
   * A number with a count of significant figures, without trailing zeros.
   * @param {number} value
   * @param {number} figures
   */
  figures(value, figures) {
    if (!value) return "0";
    const rounded = Number(value.toPrecision(figures));
    const decimals = Math.max(0, figures - 1 - Math.floor(Math.log10(Math.abs(rounded))));
    return this.number(rounded, Math.min(decimals, 6));
  }

  /**
   * The shortest writing of a value that a person typed.
   * @param {number} value
   */
  plain(value) {
    const decimals = (String(value).split(".")[1] ?? "").length;
    return this.number(value, Math.min(decimals, 6));
  }

  /**
   * Memory: one decimal below 100 GiB.
   * @param {number} value
   */
  amount(value) {
    return this.number(value, Math.abs(value) < 99.95 ? 1 : 0);
  }

  /** @param {number} value */
  gib(value) {
    return `${this.amount(value)}${HARD_SPACE}GiB`;
  }

  /** @param {number} value */
  gb(value) {
    return `${this.number(value, value < 10 && value % 1 ? 1 : 0)}${HARD_SPACE}GB`;
  }

  /** @param {Band} band */
  gibRange(band) {
    return `${this.amount(band.low)}–${this.gib(band.high)}`;
  }

  /**
   * Minutes, then hours, then days.
   * @param {number} hours
   */
  duration(hours) {
    return this.inUnit(hours, unitOf(hours));
  }

  /**
   * Both ends in the unit of the middle value, which stands beside them.
   * @param {Band} band
   */
  durationRange(band) {
    const unit = unitOf(band.mid);
    return `${this.inUnit(band.low, unit, false)}–${this.inUnit(band.high, unit)}`;
  }

  /**
   * @param {number} hours
   * @param {{hours: number, es: string, en: string}} unit
   * @param {boolean} [named]
   */
  inUnit(hours, unit, named = true) {
    const value = hours / unit.hours;
    const digits = unit === MINUTE ? this.number(Math.ceil(value)) : this.number(value, value < 9.95 ? 1 : 0);
    if (!named) return digits;
    return `${digits}${HARD_SPACE}${unit[this.language]}`;
  }

  /**
   * Parts of a duration that add up to it as written: minutes below two days, hours above.
   * @param {number[]} hours
   * @returns {string[]} the parts, and their sum last
   */
  durationParts(hours) {
    const whole = hours.reduce((sum, part) => sum + part, 0);
    const unit = whole < 48 ? MINUTE : HOUR;
    const shown = roundedParts(hours.map((part) => part / unit.hours));
    const words = shown.map((part, i) => (part || !hours[i] ? this.number(part) : "<\u00a01"));
    return [...words, this.number(shown.reduce((sum, part) => sum + part, 0))].map((text) => `${text}${HARD_SPACE}${unit[this.language]}`);
  }

  /**
   * Parts of a bill that add up to it as written.
   * @param {number[]} usd
   * @param {number} [bill] as it is shown elsewhere: its parts, cut to six digits, may add up to a cent more or less
   * @returns {string[]} the parts, and their sum last
   */
  usdParts(usd, bill) {
    const cents = roundedParts(usd.map((part) => part * 100), bill === undefined ? undefined : Math.round(bill * 100));
    const whole = cents.reduce((sum, part) => sum + part, 0);
    const words = cents.map((part, i) => (part || !usd[i] ? this.locale.dollar + this.number(part / 100, 2) : `<${HARD_SPACE}${this.locale.dollar}${this.number(0.01, 2)}`));
    return [...words, this.locale.dollar + this.number(whole / 100, 2)];
  }

  /**
   * Parts of an amount of memory that add up to it as written: one decimal below 100 GiB.
   * @param {number[]} gib
   * @returns {string[]} the parts, and their sum last
   */
  gibParts(gib) {
    const whole = gib.reduce((sum, part) => sum + part, 0);
    const decimals = Math.abs(whole) < 99.95 ? 1 : 0;
    const shown = roundedParts(gib.map((part) => part * 10 ** decimals));
    return [...shown, shown.reduce((sum, part) => sum + part, 0)].map((part) => this.number(part / 10 ** decimals, decimals));
  }

  /**
   * Two figures are all that a throughput is worth.
   * @param {number} value
   */
  rate(value) {
    return this.number(Number(value.toPrecision(2)), value < 9.95 ? 1 : 0);
  }

  /**
   * US dollars: cents below 100.
   * @param {number} value
   * @returns {string}
   */
  usd(value) {
    if (value > 0 && value < 0.005) return `<${HARD_SPACE}${this.usd(0.01)}`;
    return this.locale.dollar + this.number(value, Math.abs(value) < 99.995 ? 2 : 0);
  }

  /**
   * @param {Band} band
   */
  usdRange(band) {
    const decimals = band.high < 99.995 ? 2 : 0;
    return `${this.locale.dollar}${this.number(band.low, decimals)}–${this.number(band.high, decimals)}`;
  }

  /**
   * An hourly price: a cent matters, below ten cents a tenth of one.
   * @param {number} value
   */
  price(value) {
    return this.locale.dollar + this.number(value, value < 0.1 ? 3 : 2);
  }

  /** @param {number} share 0 to 1 */
  percent(share) {
    return this.number(share * 100) + this.locale.percent;
  }

  /**
   * Parameters of a model: 8.03 B in English, 8 030 M in Spanish, where "billón" is 10¹².
   * @param {number} count
   */
  parameters(count) {
    if (count < 1e9) return `${this.figures(count / 1e6, 3)}${HARD_SPACE}M`;
    return this.language === "en"
      ? `${this.figures(count / 1e9, 3)}${HARD_SPACE}B`
      : `${this.number(Number((count / 1e6).toPrecision(3)))}${HARD_SPACE}M`;
  }

  /**
   * A day, or only its month or year where no more is known.
   * @param {string} iso
   */
  date(iso) {
    const [year, month, day] = iso.split("-");
    return [day && String(Number(day)), month && this.locale.months[Number(month) - 1], year].filter(Boolean).join(HARD_SPACE);
  }
}

const MINUTE = { hours: 1 / 60, es: "min", en: "min" };
const HOUR = { hours: 1, es: "h", en: "h" };
const DAY = { hours: 24, es: "días", en: "days" };

/**
 * Whole numbers near the parts whose sum is the rounded sum: those cut most are rounded up first.
 * @param {number[]} parts
 * @param {number} [whole] what they add up to
 */
function roundedParts(parts, whole = Math.round(parts.reduce((sum, part) => sum + part, 0))) {
  const floors = parts.map(Math.floor);
  let missing = whole - floors.reduce((sum, part) => sum + part, 0);
  const order = parts.map((part, i) => [part - floors[i], i]).sort(([a], [b]) => b - a);
  for (const [, i] of order) if (missing-- > 0) floors[i] += 1;
  return floors;
}

/** @param {number} hours */
function unitOf(hours) {
  if (hours < 0.995) return MINUTE;
  return hours < 48 ? HOUR : DAY;
}

/**
 * Whole days from one ISO date to another; null when the first names no day.
 * @param {string} from
 * @param {string} to
 */
export function daysBetween(from, to) {
  if (from.length < 10) return null;
  return Math.round((Date.parse(to) - Date.parse(from)) / 86_400_000);
}

/**
 * Reads a number as people type it: 2048, 2 048, 2.048 and 2,048 are one integer; decimals take both marks.
 * `echo` is set where a mark could be read in two ways.
 * @param {string} text
 * @param {"integer" | "number"} kind
 * @param {Language} language
 * @returns {{value: number | null, echo: boolean}}
 */
export function readNumber(text, kind, language) {
  const typed = text.replace(/[\s\u00a0\u202f\u2009_']/g, "");
  const grouped = /^[1-9]\d{0,2}([.,])\d{3}(\1\d{3})*$/.exec(typed);
  if (kind === "integer") {
    if (grouped) return { value: Number(typed.replaceAll(grouped[1], "")), echo: false };
    return { value: /^\d{1,15}$/.test(typed) ? Number(typed) : null, echo: false };
  }
  if (grouped) {
    // One mark and three digits: thousands or decimals? Several marks, or the other language's mark for thousands,
    // can only be thousands; the own decimal mark is read as one, and the reader is told.
    const several = typed.split(grouped[1]).length > 2;
    const decimal = !several && grouped[1] === LOCALES[language].decimal;
    return { value: Number(decimal ? typed.replace(",", ".") : typed.replaceAll(grouped[1], "")), echo: !several };
  }
  const both = /^\d{1,3}(?:([.,])\d{3})+([.,])\d+$/.exec(typed);
  if (both && both[1] !== both[2]) {
    return { value: Number(typed.replaceAll(both[1], "").replace(",", ".")), echo: false };
  }
  return { value: /^\d*[.,]?\d+$/.test(typed) ? Number(typed.replace(",", ".")) : null, echo: false };
}
