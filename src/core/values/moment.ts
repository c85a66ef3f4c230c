import { parseAgo, parseDuration } from "./duration.ts";
import { ChronicleError } from "./errors.ts";
import { type CalendarTime, parseSpokenTime, type SpokenTime, spokenToUtc, UTC, type Zone } from "./spoken-time.ts";

/** The part of a moment before `~N`, parsed but not looked up in a history. Times and durations are in milliseconds. */
export type MomentBase =
  /** The number of a snapshot. The baseline is 0. */
  | { readonly kind: "number"; readonly n: number }
  /** The state after the event `seq` of the log. With 0, the state before the first event. */
  | { readonly kind: "seq"; readonly seq: number }
  | { readonly kind: "latest" }
  | { readonly kind: "baseline" }
  /** The present state, whether it is recorded or not. */
  | { readonly kind: "now" }
  | { readonly kind: "ago"; readonly ms: number }
  /** A point in time: the milliseconds since 1970, in UTC. */
  | { readonly kind: "time"; readonly ms: number }
  /** A time relative to the present, such as `yesterday`. Such a time needs a time zone (see `spokenToUtc`). */
  | { readonly kind: "spoken"; readonly spoken: SpokenTime }
  /**
   * The name of a snapshot. If no snapshot has this name, the word is an id or the beginning of an id. The id can be
   * that of a snapshot, session, restore, undo, write, action or transaction.
   */
  | { readonly kind: "word"; readonly text: string };

/** A moment, parsed from a user's text and not looked up in a history yet. */
export interface Moment {
  readonly base: MomentBase;
  /** The number of snapshots to go back from the base; 0 for the base itself. */
  readonly back: number;
}

const MOMENT_FORMS =
  "a snapshot's number or name, an id or its beginning, `latest`, `baseline`, `now`, `seq:N`, " +
  "how long ago (`10m`, `2h30m`, `3d`, `1 minute ago`), a time (`2026-01-31T09:30`, with or without a zone; `9:00`, " +
  "`yesterday`, `monday 9:00`), " +
  "or any of these with `~N` for N snapshots before";

const WORD = /^[\p{L}\p{N}][\p{L}\p{M}\p{N}._+@-]*$/u;
const MAX_WORD_LENGTH = 100;

/**
 * Parses a moment (see `MOMENT_FORMS`). `X~2~1` is `X~3`, and `X~` is `X~1`. Throws `USAGE` if the text is not a
 * moment.
 *
 * `toUtc` converts a time without a zone to milliseconds since 1970. Default: the time is in UTC.
 */
export function parseMoment(text: string, toUtc: (time: CalendarTime) => number = UTC.toUtc): Moment {
  const given = text.trim();
  const tail = /(?:~\d*)+$/.exec(given)?.[0] ?? "";
  const base = parseBase(given.slice(0, given.length - tail.length), toUtc);
  const steps = tail.split("~").slice(1);
  const back = steps.reduce((sum, step) => sum + (step === "" ? 1 : Number(step)), 0);
  if (base === undefined || !Number.isSafeInteger(back)) refuse(given);
  return { base, back };
}

/**
 * Returns true if the moment names the same state whenever it is looked up. Returns false for a word, because its
 * meaning can change: a snapshot may get this name later, or another id may begin with the word. Also returns false for
 * a moment with `~N`.
 */
export function isFixed({ base, back }: Moment): boolean {
  return back === 0 && ["number", "seq", "baseline"].includes(base.kind);
}

/**
 * Converts a time without a zone, or a spoken time (such as `yesterday`), to UTC. The time may be followed by `~N`.
 * Returns any other text unchanged. `now` is the present, in milliseconds since 1970.
 */
export function withZone(text: string, zone: Zone, now: number): string {
  const given = text.trim();
  const tail = /(?:~\d*)+$/.exec(given)?.[0] ?? "";
  const time = given.slice(0, given.length - tail.length);
  const spoken = parseSpokenTime(time);
  if (spoken !== undefined) return `${new Date(spokenToUtc(spoken, zone, now)).toISOString()}${tail}`;
  const found = TIME.exec(time);
  if (found === null || found[8] !== undefined) return text;
  const base = parseTime(time, zone.toUtc);
  return base?.kind === "time" ? `${new Date(base.ms).toISOString()}${tail}` : text;
}

/**
 * Returns true if a snapshot can have this name. A name is a letter or digit, followed by letters, marks, digits and
 * `._+@-`. A name has at most 100 characters and is in Unicode's composed form (NFC). A text that can be another form
 * of a moment (such as a number, `latest` or `yesterday`) is not a name.
 */
export function isValidSnapshotName(name: string): boolean {
  if (name.normalize("NFC") !== name || /^(?:latest|baseline|now)$/i.test(name)) return false;
  return parseBase(name, UTC.toUtc)?.kind === "word";
}

function refuse(text: string): never {
  const shown = text.length > 100 ? `${text.slice(0, 100)}…` : text;
  throw new ChronicleError("USAGE", `${JSON.stringify(shown)} does not name a moment`, {
    hint: `give ${MOMENT_FORMS}`,
    data: { moment: shown },
  });
}

/**
 * Returns `undefined` if the text has none of the forms of a moment. A number or a date that is invalid is not parsed
 * as a word.
 */
function parseBase(text: string, toUtc: (time: CalendarTime) => number): MomentBase | undefined {
  if (text === "latest" || text === "baseline" || text === "now") return { kind: text };
  if (/^\d+$/.test(text)) return wholeNumber(text, (n) => ({ kind: "number", n }));
  if (text.startsWith("seq:")) return wholeNumber(text.slice(4), (seq) => ({ kind: "seq", seq }));
  if (/^\d{4}-\d\d-\d\d/.test(text)) return parseTime(text, toUtc);
  const ms = parseDuration(text) ?? parseAgo(text);
  if (ms !== undefined) return { kind: "ago", ms };
  const spoken = parseSpokenTime(text);
  if (spoken !== undefined) return { kind: "spoken", spoken };
  return text.length <= MAX_WORD_LENGTH && WORD.test(text) ? { kind: "word", text } : undefined;
}

function wholeNumber(text: string, make: (n: number) => MomentBase): MomentBase | undefined {
  const n = /^\d+$/.test(text) ? Number(text) : Number.NaN;
  return Number.isSafeInteger(n) ? make(n) : undefined;
}

const TIME = /^(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)?(Z|[+-]\d\d(?::?\d\d)?)?)?$/;

function parseTime(text: string, toUtc: (time: CalendarTime) => number): MomentBase | undefined {
  const found = TIME.exec(text);
  if (found === null) return undefined;
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = found
    .slice(1, 7)
    .map((part) => Number(part ?? 0));
  const fraction = Number((found[7] ?? "").padEnd(3, "0").slice(0, 3));
  const time: CalendarTime = [year, month - 1, day, hour, minute, second, fraction];
  const utc = Date.UTC(...time);
  // Refuse a day or an hour that does not exist, such as February 30. `Date.UTC` would convert it to a later time.
  if (!new Date(utc).toISOString().startsWith(clockText(time))) return undefined;
  const offset = offsetMinutes(found[8]);
  const ms = offset === undefined ? toUtc(time) : utc - offset * 60_000;
  return Number.isFinite(ms) && Math.abs(offset ?? 0) < 24 * 60 ? { kind: "time", ms } : undefined;
}

function clockText([year, month, day, hour, minute, second]: CalendarTime): string {
  const two = (n: number): string => n.toString().padStart(2, "0");
  return `${year.toString().padStart(4, "0")}-${two(month + 1)}-${two(day)}T${two(hour)}:${two(minute)}:${two(second)}`;
}

function offsetMinutes(zone: string | undefined): number | undefined {
  if (zone === undefined || zone === "Z") return zone === undefined ? undefined : 0;
  const minutes = Number(zone.slice(1, 3)) * 60 + Number(zone.slice(3).replace(":", "") || 0);
  return zone.startsWith("-") ? -minutes : minutes;
}
