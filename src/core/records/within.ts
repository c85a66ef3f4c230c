import type { RecordBody } from "../values/event.ts";
import { optionalText } from "../values/record-fields.ts";

/** The ids of the innermost run, action and transaction within which a record's bracket was begun. */
export interface Within {
  readonly run?: string;
  readonly action?: string;
  readonly transaction?: string;
}

const KINDS = ["run", "action", "transaction"] as const;

/** Encodes the fields of a record that say what it was begun within. */
export function encodeWithin(within: Within): Readonly<Record<string, string>> {
  return Object.fromEntries(KINDS.flatMap((kind) => (within[kind] === undefined ? [] : [[kind, within[kind]]])));
}

/** Decodes the output of `encodeWithin`. Throws `LOG_DAMAGED`. */
export function decodeWithin(body: RecordBody): Within {
  const within: { -readonly [Kind in keyof Within]: Within[Kind] } = {};
  for (const kind of KINDS) {
    const id = optionalText(body, kind);
    if (id !== undefined) within[kind] = id;
  }
  return within;
}
