import { shortIds, shortId } from "./short-ids.ts";

type Data = Readonly<Record<string, unknown>>;

/** Matches the names of fields with hashes. A model needs no hashes, because the tools take ids and paths. */
const HASHES = /^(?:[a-z]+_)?hash$|^root$/;

/** Matches the names of fields with text of files, or with names from elsewhere. These fields are never changed. */
const VERBATIM =
  /^(?:path|path_b64|paths|files_backed_up|outside|also|text|content|patch|name|message|actor|kept_at|ambiguous)$/;

/** Matches the names of fields with sentences of Chronicle, which may contain ids. */
const SENTENCES = /^(?:summary|action_summary|selection|notes|next|finished|detail|back|reason|hint)$/;

/** Returns the data without hashes, and with shortened ids. */
export function withShortIds(data: Data): Data {
  return Object.fromEntries(
    Object.entries(data)
      .filter(([key, value]) => !HASHES.test(key) || typeof value !== "string")
      .map(([key, value]) => [key, shortIn(key, value)]),
  );
}

function shortIn(key: string, value: unknown): unknown {
  if (VERBATIM.test(key)) return value;
  if (typeof value === "string") return SENTENCES.test(key) ? shortIds(value) : shortId(value);
  if (Array.isArray(value)) return value.map((one: unknown) => shortIn(key, one));
  return isData(value) ? withShortIds(value) : value;
}

function isData(value: unknown): value is Data {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The only field whose text may be cut. Any other text would be wrong if it were cut. */
const MAY_BE_CUT = "patch";

interface Cut {
  readonly value: unknown;
  /** The names of lists that were cut. */
  readonly names: ReadonlySet<string>;
}

const NONE: ReadonlySet<string> = new Set();

/** The number of characters that is reserved for the names of the lists that were cut. */
const NAMES = 100;

/**
 * Returns the data with its lists cut, so that it has about `most` characters as JSON. If something was cut,
 * `shortened` names the lists of which only the first items are there. Texts other than patches are never cut.
 */
export function fittedData(data: Data, most: number): Data {
  if (sizeOf(data) <= most) return data;
  const { value, names } = cutData(data, most - NAMES);
  return { ...value, ...(names.size === 0 ? {} : { shortened: [...names].sort() }) };
}

function sizeOf(value: unknown): number {
  return (JSON.stringify(value) ?? "").length;
}

/**
 * Cuts the fields to `most` characters together. Begins with the smallest fields, so that the larger fields get the
 * room that the smaller ones do not need.
 */
function cutData(data: Data, most: number): { readonly value: Data; readonly names: ReadonlySet<string> } {
  const names = new Set<string>();
  const cut = new Map<string, unknown>();
  const fields = Object.entries(data).map(([key, value]) => ({ key, value, size: sizeOf(value) }));
  const isFixed = ({ key, value }: (typeof fields)[number]): boolean =>
    typeof value !== "object" && !(key === MAY_BE_CUT && typeof value === "string");
  const flexible = fields.filter((one) => !isFixed(one)).sort((a, b) => a.size - b.size);
  const keys = fields.reduce((sum, { key }) => sum + key.length + 4, 2);
  let room = most - keys - fields.filter(isFixed).reduce((sum, { size }) => sum + size, 0);
  for (const [i, { key, value }] of flexible.entries()) {
    const found = cutValue(key, value, Math.max(0, Math.floor(room / (flexible.length - i))));
    cut.set(key, found.value);
    room -= sizeOf(found.value);
    for (const name of found.names) names.add(name);
  }
  const value = Object.fromEntries(fields.map(({ key, value: whole }) => [key, cut.get(key) ?? whole]));
  return { value: names.has("patch") && "patch" in value ? { ...value, patch_cut: true } : value, names };
}

function cutValue(key: string, value: unknown, most: number): Cut {
  if (sizeOf(value) <= most) return { value, names: NONE };
  if (typeof value === "string") return { value: value.slice(0, most).toWellFormed(), names: new Set([key]) };
  if (Array.isArray(value)) return cutList(key, value, most);
  return isData(value) ? cutData(value, most) : { value, names: NONE };
}

/** Returns the first items that fit. If even the first item does not fit, returns only this item, cut. */
function cutList(key: string, list: readonly unknown[], most: number): Cut {
  const shown: unknown[] = [];
  let room = most - 2;
  for (const one of list) {
    room -= sizeOf(one) + 1;
    if (room < 0) break;
    shown.push(one);
  }
  const [first] = list;
  const names = new Set(shown.length < list.length ? [key] : []);
  if (shown.length > 0 || !isData(first)) return { value: shown, names };
  const found = cutData(first, most);
  return {
    value: [found.value],
    names: new Set([...names, ...found.names].filter((one) => list.length > 1 || one !== key)),
  };
}
