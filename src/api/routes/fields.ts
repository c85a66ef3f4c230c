import * as z from "zod";

// This file makes the schemas of the fields of queries and bodies, with their bounds. All values of a query are text;
// `count`, `bits`, `flag` and `many` parse them. The engine checks all values again.

const MAX_WORD = 200;
/** The maximum length of a path: the limit of `core/values/path.ts`, plus the prefix of a root (`@<root id>:`). */
const MAX_PATH = 66_000;
const MAX_PATHS = 10_000;
/** The maximum depth of nested JSON: enough for any request, and far below the depth at which a stack overflows. */
const MAX_DEPTH = 64;

const noControls = /^[^\u0000-\u001f\u007f-\u009f]+$/;

/** Returns the schema of an id, a name or a moment. */
export const word = (what: string): z.ZodString =>
  z.string().min(1).max(MAX_WORD).regex(noControls, "must hold no control characters").describe(what);

export const text = (what: string, most: number): z.ZodString => z.string().max(most).describe(what);

export const path = (what: string): z.ZodString => z.string().max(MAX_PATH).describe(what);

export const paths = (what: string): z.ZodArray<z.ZodString> =>
  z.array(z.string().max(MAX_PATH)).max(MAX_PATHS).describe(what);

export const moment = (what: string): z.ZodString =>
  word(
    `${what}. Forms of a moment: a snapshot's number, an id or its beginning, a name, \`latest\`, \`baseline\`, \`seq:40\`, how long ago (\`10m\`), or a time in ISO-8601 (UTC if it has no zone)`,
  );

/** Returns the schema of a whole number in a body. */
export const number = (what: string, most = Number.MAX_SAFE_INTEGER): z.ZodInt =>
  z.int().min(0).max(most).describe(what);

/** Returns the schema of a boolean in a body. */
export const bool = (what: string): z.ZodBoolean => z.boolean().describe(what);

const DIGITS = /^\d{1,16}$/;

/** Returns the schema of a whole number in a query. */
export const count = (what: string, { least = 0, most = Number.MAX_SAFE_INTEGER } = {}) =>
  z
    .string()
    .regex(DIGITS, `must be a whole number from ${least}`)
    .transform(Number)
    .pipe(z.int().min(least).max(most))
    .meta({ description: what });

/**
 * Matches a number. After a leading 0, matches only octal digits, so that a mistyped octal number is not parsed as
 * decimal.
 */
const BITS = /^(?:0[0-7]{0,15}|[1-9]\d{0,15})$/;

/**
 * Returns the schema of permission bits in a query. A number that begins with 0 is octal, any other number is decimal.
 * Setuid, setgid and the sticky bit are refused.
 */
export const bits = (what: string) =>
  z
    .string()
    .regex(BITS, "must be a whole number from 0, or octal as in 0755")
    .transform((given) => (/^0[0-7]+$/.test(given) ? Number.parseInt(given, 8) : Number(given)))
    .pipe(z.int().min(0).max(0o777))
    .meta({ description: what });

/** Returns the schema of a boolean in a query: `true` or `false`. */
export const flag = (what: string) =>
  z
    .enum(["true", "false"])
    .transform((given) => given === "true")
    .pipe(z.boolean())
    .meta({ description: what });

/** Returns the schema of a list of texts in a query. The query repeats the key for each text. */
export const many = (what: string, most: number) =>
  z
    .union([
      z
        .string()
        .max(MAX_PATH)
        .transform((one) => [one]),
      z.array(z.string().max(MAX_PATH)).max(most),
    ])
    .pipe(z.array(z.string()).max(most))
    .meta({ description: what });

export const limit = count("the maximum number of items in the answer (default 100)", {
  least: 1,
  most: 1_000,
}).optional();

export const paging = {
  limit,
  cursor: z
    .string()
    .min(1)
    .max(2_000)
    .describe("`next` of the previous page; the answer continues after that page")
    .optional(),
};

export const by = {
  actor: word("the actor (default: the name by which the server knows the caller)").optional(),
  session: word("the id of the agent's session").optional(),
};

export const jsonObject = (what: string) =>
  z
    .record(z.string(), z.unknown())
    .refine((value) => depthOf(value) <= MAX_DEPTH, `must not be nested deeper than ${MAX_DEPTH}`)
    .describe(what);

/**
 * Returns the depth of nested arrays and objects, at most `MAX_DEPTH` + 1. Does not recurse, because an untrusted value
 * could overflow the stack.
 */
function depthOf(value: unknown): number {
  let level: unknown[] = [value];
  for (let depth = 0; ; depth += 1) {
    const inner = level.filter((one): one is object => typeof one === "object" && one !== null);
    if (inner.length === 0 || depth > MAX_DEPTH) return depth;
    level = inner.flatMap((one): unknown[] => Object.values(one));
  }
}
