import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { PROTOCOL_SAMPLES } from "../../testing/protocol-samples.ts";
import * as z from "zod";
import { encodeMessage } from "./codec.ts";
import { encodeFrame } from "./frame.ts";
import * as limits from "./limits.ts";
import { bytesFieldOf, isCredited, MESSAGE } from "./messages.ts";

const page = readFileSync(join(import.meta.dirname, "../../../docs/protocol.md"), "utf8");

/** A field as the page or the schema has it: its message and place, its type, and whether it may be absent or null. */
type Field = readonly [place: string, type: string, presence: string];

const SHARED = ["a path", "a state"];

/** The cells of each row of the tables under "Fields"; the first one is the message, or the name of a shared table. */
function* rows(): Generator<readonly string[]> {
  const start = page.indexOf("\n### Fields\n");
  let title = "";
  for (const line of page.slice(start, page.indexOf("\n### What they hold\n", start)).split("\n")) {
    if (/^[A-Z][a-z ]+:$/.test(line)) title = line.slice(0, -1).toLowerCase();
    if (!line.startsWith("| ") || /^\| (field|message) \|/.test(line)) continue;
    const cells = line.replaceAll("`", "").slice(2).split(" | ");
    yield SHARED.includes(title) ? [title, ...cells] : cells;
  }
}

/** The fields of all messages, as the page's tables have them. */
function fieldsOfPage(): Field[] {
  const shared = new Map<string, Field[]>();
  const found: Field[] = [];
  for (const [of = "", cell = "", type = "", presence = ""] of rows()) {
    const name = cell.replace(/^\+ /, "");
    const included = SHARED.find((one) => name.endsWith(one));
    const prefix = included === undefined ? "" : name.slice(0, -included.length).trim();
    const fields = included === undefined ? [[name, type, presence] as const] : (shared.get(included) ?? []);
    const placed = fields.map(([place, ...rest]): Field => [`${prefix}${place}`, ...rest]);
    if (SHARED.includes(of)) shared.set(of, [...(shared.get(of) ?? []), ...placed]);
    else found.push(...placed.map(([place, ...rest]): Field => [`${of} ${place}`, ...rest]));
  }
  return found;
}

/** The part of JSON Schema that is read here. */
interface Schema {
  readonly type?: string;
  readonly const?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
}

/** The page's names for the schema's types. A custom rule of ours (a hash, bytes) has no type in the schema. */
const TYPES: Readonly<Record<string, string>> = { string: "text", boolean: "true or false" };

function* fieldsOf(schema: Schema, place: string): Generator<Field> {
  for (const [name, given] of Object.entries(schema.properties ?? {})) {
    if (name === "type" && place.endsWith(" ")) continue;
    const isNullable = given.anyOf?.some(({ type }) => type === "null") === true;
    const isRequired = schema.required?.includes(name) === true;
    const field = isNullable ? (given.anyOf?.find(({ type }) => type !== "null") ?? {}) : given;
    const type = field.type === undefined ? "" : (TYPES[field.type] ?? field.type);
    const presence = isNullable ? "may be null" : "always";
    yield [`${place}${name}`, type, isRequired ? presence : "may be absent"];
    if (field.type === "object") yield* fieldsOf(field, `${place}${name}.`);
    if (field.items?.type === "object") yield* fieldsOf(field.items, `${place}${name}[].`);
  }
}

/** The fields of all messages, as the code checks them. */
function fieldsOfCode(): Field[] {
  const { oneOf = [] } = z.toJSONSchema(MESSAGE, { unrepresentable: "any", io: "input" }) as Schema;
  return oneOf.flatMap((one) => [...fieldsOf(one, `${one.properties?.["type"]?.const} `)]);
}

/** Returns the page's type, as coarsely as the schema can express it. */
function coarse(type: string): string {
  if (type.startsWith("list of ")) return "array";
  return type === "signed integer" ? "integer" : type;
}

it("docs/protocol.md names every message, and no other", () => {
  const named = [...page.matchAll(/^\| (?:\+ )?`([A-Z]\w+)` \| (?:O → R|R → O|both) \|/gm)].map(([, name]) => name);
  expect(named).toHaveLength(new Set(named).size);
  expect(new Set<unknown>(named)).toEqual(new Set(PROTOCOL_SAMPLES.map(({ type }) => type)));
});

it("docs/protocol.md names every field, and says whether it may be absent or null", () => {
  const order = ([a]: Field, [b]: Field): number => (a < b ? -1 : 1);
  const whether = ([place, , presence]: Field): string => `${place}: ${presence}`;
  const [told, checked] = [fieldsOfPage().toSorted(order), fieldsOfCode().toSorted(order)];
  expect(told.map(whether)).toEqual(checked.map(whether));
  for (const [at, [place, type]] of checked.entries()) {
    const said = coarse(told[at]?.[1] ?? "");
    if (type === "") expect(["hash", "bytes", "object"], place).toContain(said);
    else expect(said, place).toBe(type);
  }
});

it("docs/protocol.md names exactly the fields whose bytes are in the body", () => {
  for (const [place, type] of fieldsOfPage()) {
    const [message = "", path = ""] = place.split(" ");
    expect(type === "bytes", place).toBe(bytesFieldOf(message) === path.split(".").at(-1));
  }
});

it("docs/protocol.md names the messages that need credit", () => {
  const credited = /^(.*) are \*credited\*/m.exec(page)?.[1] ?? "";
  for (const { type } of PROTOCOL_SAMPLES) expect(credited.includes(`\`${type}\``), type).toBe(isCredited(type));
});

it("docs/protocol.md has the example's bytes", () => {
  const frame = encodeFrame(encodeMessage({ type: "Ack", up_to_sequence: 9 }), 258);
  const header = frame.subarray(0, 28).toString("hex");
  expect(page.replaceAll(" ", "")).toContain(header);
});

it("the limits of the protocol have the values that docs/protocol.md states", () => {
  const mib = 1024 ** 2;
  expect(limits).toMatchObject({
    PROTOCOL_VERSION: 2,
    MAX_FRAME_BYTES: 4 * mib,
    MAX_HEAD_BYTES: mib,
    MAX_JSON_DEPTH: 64,
    MAX_JSON_PARTS: 100_000,
    INLINE_BELOW_BYTES: 4096,
    MAX_PIECE_BYTES: 2 * mib,
    MAX_LINES_BYTES: 2 * mib,
    MAX_NOTIFIED_LINE: 131_072,
    MAX_ENTRIES: 500,
    MAX_CHUNKS: 8_000,
    MAX_CHUNK_BYTES: 64 * mib,
    MAX_FOLDERS: 256,
    MAX_CHILDREN: 4_000,
    MAX_ERASURES_BYTES: 64 * mib,
    MAX_ASKED: 10_000,
    MAX_NOT_IN_BLOCKS: 4_000,
    MAX_BLOCKS_BYTES: 3.5 * mib,
    INITIAL_CREDIT_BYTES: mib,
  });
});
