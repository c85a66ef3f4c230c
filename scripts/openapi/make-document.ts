import type { Route } from "../../src/api/routes/row.ts";
import type { JsonSchema } from "./json-schema.ts";
import { operationOf, pageName } from "./operation.ts";

const text = (description: string, more: JsonSchema = {}): JsonSchema => ({
  description,
  schema: { type: "string", ...more },
});
const whole = (description: string): JsonSchema => ({ description, schema: { type: "integer" } });
const inHeader = (name: string, described: JsonSchema): JsonSchema => ({
  name,
  in: "header",
  required: false,
  ...described,
});

const PARAMETERS: JsonSchema = {
  IdempotencyKey: inHeader(
    "Idempotency-Key",
    text("Names the change: said again under the same key, it is not done again, and gets the same answer", {
      maxLength: 128,
    }),
  ),
  Actor: inHeader("Chronicle-Actor", text("Who acts (default: as the server knows the caller)", { maxLength: 100 })),
  Client: inHeader("Chronicle-Client", text("The program on whose behalf", { maxLength: 100 })),
  IfMatch: inHeader("If-Match", text('Only if the content is this one: `"<hash>"`; `*`: only if there is one')),
  IfNoneMatch: inHeader("If-None-Match", text("`*`: only if there is none", { const: "*" })),
  IfNoneMatchTag: inHeader("If-None-Match", text("ETags of what you have: 304 if it is one of them")),
  Range: inHeader("Range", text("One range of bytes: `bytes=0-99`")),
  LastEventId: inHeader("Last-Event-ID", whole("Go on after this seq")),
};

const HEADERS: JsonSchema = {
  ETag: text('The hash of the content, in quotes: `"<hash>"`'),
  Path: text("The path as people see it, percent-encoded"),
  PathB64: text("Its bytes, where they are not UTF-8"),
  Kind: text("What it is", { enum: ["file", "symlink", "dir"] }),
  Size: whole("Bytes of the whole content"),
  Permissions: whole("Permission bits, as a number"),
  MtimeMs: { description: "When it was last written, epoch milliseconds", schema: { type: "number" } },
  Iteration: whole("Which iteration of the path this is"),
  Seq: whole("The event that recorded it"),
};

const TAGS: Readonly<Record<string, string>> = {
  server: "Who am I",
  workspaces: "The workspaces of the store",
  files: "List, read, write, follow",
  history: "Looking back",
  undo: "Going back",
  sessions: "Agents' sessions, and runs",
  actions: "What tools are about to do, and did",
  transactions: "Work that lands whole or is taken back whole",
  conflicts: "What did not merge",
  records: "Records of a user's own, in the same log",
  sync: "Folders of the server's machine that follow other stores: on its owner's Unix socket alone",
  upkeep: "Proof, retention, space",
};

const DESCRIPTION = `Every change to a workspace's files is an event in a hash-chained log, and every content is kept.

Lists come in pages: \`items\`, and \`next\`, which is the \`cursor\` of those that follow. What goes wrong is a problem (RFC 9457)
with a stable \`code\`. Each change takes an \`Idempotency-Key\`, and may be sent again under it. Moments are text: a snapshot's
number, \`seq:40\`, an id or its beginning, a name, \`latest\`, \`baseline\`, \`10m\`, ISO-8601, \`X~2\`; \`now\` is what is on disk.`;

/** The OpenAPI 3.1 document of a table of routes. \`components\`: the shapes that replies are made of. */
export function makeDocument(routes: readonly Route[], components: Readonly<Record<string, JsonSchema>>): JsonSchema {
  const paths = Object.groupBy(routes, ({ path }) => path);
  return {
    openapi: "3.1.0",
    info: {
      title: "Chronicle",
      version: "1",
      description: DESCRIPTION,
      license: { name: "Apache-2.0", identifier: "Apache-2.0" },
    },
    servers: [{ url: "/" }],
    security: [{ token: [] }],
    tags: Object.entries(TAGS).map(([name, description]) => ({ name, description })),
    paths: {
      ...Object.fromEntries(
        Object.entries(paths).map(([path, rows = []]) => [
          path,
          Object.fromEntries(rows.map((row) => [row.method.toLowerCase(), operationOf(row)])),
        ]),
      ),
      "/healthz": { get: healthOf("health", "Is the server there?") },
      "/readyz": { get: healthOf("readiness", "Can it answer? 503: not now") },
    },
    components: {
      securitySchemes: {
        token: {
          type: "http",
          scheme: "bearer",
          description: "As `chronicle token create` gives it. The owner of the server's Unix socket needs none there.",
        },
      },
      parameters: PARAMETERS,
      headers: HEADERS,
      schemas: { ...components, ...pagesOf(routes) },
    },
  };
}

/** Called by monitoring, without a token. */
function healthOf(operationId: string, summary: string): JsonSchema {
  const schema = { type: "object", properties: { ok: { type: "boolean" } }, required: ["ok"] };
  const responses = {
    200: { description: "Yes", content: { "application/json": { schema } } },
    503: { description: "No" },
  };
  return { operationId, tags: ["server"], summary, security: [], responses };
}

function pagesOf(routes: readonly Route[]): Record<string, JsonSchema> {
  const shapes = [...new Set(routes.flatMap(({ reply }) => ("pageOf" in reply ? [reply.pageOf] : [])))].sort();
  return Object.fromEntries(
    shapes.map((shape) => [
      pageName(shape),
      {
        type: "object",
        properties: {
          items: { type: "array", items: { $ref: `#/components/schemas/${shape}` } },
          next: { type: ["string", "null"], description: "The `cursor` of those that follow; `null`: that was all" },
        },
        required: ["items", "next"],
      },
    ]),
  );
}
