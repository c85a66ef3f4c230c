import fc, { type Arbitrary } from "fast-check";
import * as z from "zod";
import type { Route } from "../../src/api/routes/row.ts";

/** A request that may or may not make sense. `§7` in any text stands for something that a reply has named. */
export interface FuzzRequest {
  readonly operation: string;
  readonly method: string;
  /** As it is sent, with its query. */
  readonly target: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
  /** Who asks: see `FuzzCallers`. */
  readonly as: (typeof CALLERS)[number];
}

export const CALLERS = ["operator", "agent", "reader", "confined", "nobody", "owner"] as const;
export const WORKSPACES = ["one", "two", "folder"] as const;

type Json = z.core.JSONSchema.BaseSchema | boolean;

const PATHS = [
  ..."a.txt b.txt d/c.txt d d/e/f.txt new.txt .gitignore history a.txt/history a.txt/at/1 at".split(" "),
  ".chronicle/at/1/a.txt",
  ".chronicle/query/a.txt",
  ".chronicle",
  "../x",
  "/etc/passwd",
  "a//b",
  "",
  ".",
  "./a.txt",
  "base64:YS50eHQ=",
  "base64:Li4v",
  "base64:/w==",
  "base64:!",
  "@other:a.txt",
  "@:x",
  "a\u0000b",
  "\ud800",
  "<img src=x onerror=alert(1)>",
  "x\r\nset-cookie: a=b",
  "--force",
  "$(x)",
  "x".repeat(300),
  "y/".repeat(2_100),
  "*a*a*a*a*a*a*b",
];
const MOMENTS = "latest baseline now 0 1 2 seq:1 seq:99999 10m 1~1 latest~9 §3 2020-01-01 2999-01-01T00:00:00Z".split(
  " ",
);
const ODD = [
  "",
  " ",
  "null",
  "-1",
  "1e999",
  "9".repeat(400),
  "__proto__",
  "constructor",
  "toString",
  "%s%n",
  "${x}",
  "\u202e",
];

const word: Arbitrary<string> = fc.oneof(
  { weight: 6, arbitrary: fc.nat(400).map((n) => `§${n}`) },
  { weight: 4, arbitrary: fc.constantFrom(...PATHS) },
  { weight: 3, arbitrary: fc.constantFrom(...MOMENTS) },
  { weight: 2, arbitrary: fc.constantFrom(...ODD) },
  { weight: 1, arbitrary: fc.string({ unit: "binary", maxLength: 40 }) },
);

const wild: Arbitrary<unknown> = fc.oneof(
  word,
  fc.jsonValue({ maxDepth: 3 }),
  fc.constantFrom<unknown>(null, true, 0, -1, 1e308, 1.5, Number.MAX_SAFE_INTEGER, [], {}, [[]], [null], { length: 9 }),
);

function valuesOf(schema: Json | undefined): Arbitrary<unknown> {
  if (schema === undefined || typeof schema === "boolean") return wild;
  if (schema.const !== undefined) return fc.constant(schema.const);
  if (schema.enum !== undefined) return fc.constantFrom<unknown>(...schema.enum);
  const either = schema.anyOf ?? schema.oneOf;
  if (either !== undefined) return fc.oneof(...either.map((one) => valuesOf(one as Json)));
  switch (schema.type) {
    case "string":
      return textOf(schema);
    case "integer":
    case "number":
      return fc.oneof(fc.nat(5), fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER }));
    case "boolean":
      return fc.boolean();
    case "array":
      return fc.array(valuesOf(schema.items as Json), { maxLength: 4 });
    case "object":
      return objectOf(schema);
    default:
      return wild;
  }
}

function textOf({ pattern }: z.core.JSONSchema.BaseSchema): Arbitrary<unknown> {
  if (pattern?.includes("\\d") !== true) return word;
  return fc.oneof(fc.nat(5).map(String), fc.constantFrom("0", "100", "9007199254740991", "9999999999999999", "00"));
}

function objectOf({
  properties,
  required = [],
  additionalProperties,
}: z.core.JSONSchema.BaseSchema): Arbitrary<unknown> {
  if (properties === undefined) {
    return fc.dictionary(fc.oneof(fc.string({ maxLength: 8 }), word), valuesOf(additionalProperties as Json), {
      maxKeys: 4,
    });
  }
  const fields = Object.fromEntries(Object.entries(properties).map(([name, one]) => [name, valuesOf(one as Json)]));
  return fc.record(fields, { requiredKeys: required.filter((name) => name in fields) });
}

/** Something of it, anywhere, is another thing. */
function spoilt(value: Arbitrary<unknown>): Arbitrary<unknown> {
  return fc.tuple(value, wild, fc.nat(), word).map(([whole, other, at, name]) => {
    if (typeof whole !== "object" || whole === null) return other;
    const keys = Object.keys(whole);
    const key = at % 3 === 0 || keys.length === 0 ? name : (keys[at % keys.length] ?? name);
    return { ...whole, [key]: other };
  });
}

function schemaOf(schema: z.ZodType | undefined): Json | undefined {
  return schema === undefined ? undefined : (z.toJSONSchema(schema, { io: "input", unrepresentable: "any" }) as Json);
}

const HASH = "0".repeat(64);
const HEADERS: Readonly<Record<string, Arbitrary<string>>> = {
  "if-match": fc.constantFrom(`"${HASH}"`, '"§1"', "*", '""', "W/x", '"a", "b"', "\u00ff"),
  "if-none-match": fc.constantFrom("*", '"§1"', `W/"${HASH}"`, ",,,", '"'),
  "idempotency-key": fc.constantFrom("k1", "k2", "k3", "§4", "", " ", "x".repeat(500)),
  "last-event-id": fc.constantFrom("0", "1", "99999999", "-1", "x", ""),
  range: fc.constantFrom(
    "bytes=0-1",
    "bytes=-1",
    "bytes=9-1",
    "bytes=0-,5-",
    "lines=1",
    "bytes=",
    `bytes=${"9".repeat(15)}-`,
  ),
  "content-type": fc.constantFrom(
    "application/json",
    "text/plain",
    "text/html; charset=x",
    "",
    ";",
    "multipart/form-data",
  ),
  "content-encoding": fc.constantFrom("gzip", "br", "x"),
  accept: fc.constantFrom("text/event-stream", "text/html", "*/*;q=x"),
  expect: fc.constantFrom("100-continue", "x"),
  "chronicle-role": fc.constantFrom("agent", "operator", "x"),
  "chronicle-actor": fc.constantFrom("me", "\u00ff", "", "x".repeat(400)),
  "chronicle-client": fc.constantFrom("c", "\u00ff"),
  "x-chronicle-version": fc.constantFrom("0.0.1", "x"),
  "x-http-method-override": fc.constantFrom("DELETE"),
  upgrade: fc.constantFrom("h2c", "x"),
};
const headers = fc.record(HEADERS, { requiredKeys: [] }).map((all) => Object.entries(all));
const someHeaders: Arbitrary<Record<string, string>> = fc.oneof(
  { weight: 3, arbitrary: fc.constant({}) },
  {
    weight: 2,
    arbitrary: fc
      .tuple(headers, fc.nat(99))
      .map(([all, at]) =>
        Object.fromEntries<string>(all.slice(at % 13, (at % 13) + 2).map(([name, value]) => [name, value ?? ""])),
      ),
  },
);

const encoded = (text: string): string =>
  text
    .split("/")
    .map((part) => encodeURIComponent(part.toWellFormed()).replaceAll("%C2%A7", "§"))
    .join("/");

const rawPart = fc.constantFrom(
  "%00",
  "%",
  "%zz",
  "%2e%2e%2f",
  "%252e",
  "..%5c",
  "%ff",
  "%c0%ae",
  "\\",
  "//",
  ";",
  "%0d%0a",
  "~",
);

function paramOf(name: string): Arbitrary<string> {
  if (name === "id")
    return fc.oneof(
      { weight: 20, arbitrary: fc.constantFrom(...WORKSPACES) },
      { weight: 2, arbitrary: word.map(encodeParam) },
      { weight: 1, arbitrary: rawPart },
    );
  const plain =
    name === "path"
      ? fc.constantFrom(...PATHS)
      : name === "n"
        ? fc.constantFrom("1", "2", "last", "0", "-1", "x")
        : word;
  const encoding = name === "path" ? encoded : encodeParam;
  return fc.oneof({ weight: 12, arbitrary: plain.map(encoding) }, { weight: 1, arbitrary: rawPart });
}

const encodeParam = (text: string): string => encodeURIComponent(text.toWellFormed()).replaceAll("%C2%A7", "§");

function targetOf(row: Route): Arbitrary<string> {
  const parts = row.path.split(/(\{[a-z]+\})/);
  return fc
    .tuple(...parts.map((part) => (part.startsWith("{") ? paramOf(part.slice(1, -1)) : fc.constant(part))))
    .map((all) => all.join(""));
}

function queryOf(row: Route): Arbitrary<string> {
  const schema = schemaOf(row.query);
  const fit = schema === undefined ? fc.constant<unknown>({}) : valuesOf(schema);
  const query = fc.oneof({ weight: 4, arbitrary: fit }, { weight: 1, arbitrary: spoilt(fit) }).map((value) =>
    Object.entries((value ?? {}) as Record<string, unknown>)
      .flatMap(([name, one]) =>
        (Array.isArray(one) ? one : [one]).map(
          (each) => `${encodeParam(name)}=${encodeParam(typeof each === "string" ? each : JSON.stringify(each))}`,
        ),
      )
      .join("&"),
  );
  const odd = fc.constantFrom(
    "a",
    "=",
    "&&&",
    "a=1&a=2&a[]=3",
    "%",
    "%zz=%",
    "__proto__=1",
    "a".repeat(3_000),
    "limit=5&limit=6",
    "path=%00",
    "cursor=%ff",
  );
  return fc.oneof({ weight: 9, arbitrary: query }, { weight: 1, arbitrary: odd });
}

const bytes: Arbitrary<string | Uint8Array> = fc.oneof(
  fc.uint8Array({ maxLength: 300 }),
  fc.constantFrom(
    "",
    "text",
    "\u0000",
    "[".repeat(5_000),
    "{",
    '{"a":1,"a":2}',
    '{"__proto__":{}}',
    "\ufeff{}",
    '"\\ud800"',
    "nan",
    `{"a":${"9".repeat(500)}}`,
    "x".repeat(100_000),
  ),
);

function bodyOf(row: Route): Arbitrary<string | Uint8Array | undefined> {
  const schema = schemaOf(row.body);
  if (row.bytes !== undefined) return bytes;
  if (schema === undefined)
    return fc.oneof({ weight: 6, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: bytes });
  const fit = valuesOf(schema);
  return fc.oneof(
    { weight: 8, arbitrary: fit.map((value) => JSON.stringify(value)) },
    { weight: 3, arbitrary: spoilt(fit).map((value) => JSON.stringify(value)) },
    { weight: 1, arbitrary: bytes },
    { weight: 1, arbitrary: fc.constant(undefined) },
  );
}

/** Requests to a row: right ones, almost right ones, and others. */
export function requestsTo(row: Route): Arbitrary<FuzzRequest> {
  const method = fc.oneof(
    { weight: 20, arbitrary: fc.constant<string>(row.method) },
    { weight: 1, arbitrary: fc.constantFrom("HEAD", "PUT", "POST", "DELETE", "PATCH", "OPTIONS", "PROPFIND") },
  );
  const caller = fc.constantFrom<FuzzRequest["as"]>(
    ...("operator operator operator agent agent reader confined nobody owner".split(" ") as FuzzRequest["as"][]),
  );
  return fc
    .record({ method, path: targetOf(row), query: queryOf(row), headers: someHeaders, body: bodyOf(row), as: caller })
    .map(({ path, query, headers: given, body, ...rest }) => ({
      operation: row.operation,
      ...rest,
      target: query === "" ? path : `${path}?${query}`,
      headers: {
        ...(body === undefined || row.bytes !== undefined ? {} : { "content-type": "application/json" }),
        ...given,
      },
      ...(body === undefined ? {} : { body }),
    }));
}
