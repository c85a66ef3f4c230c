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
    text(
      "Identifies the change. A repeated request with the same key is not performed again, and gets the same answer",
      {
        maxLength: 128,
      },
    ),
  ),
  Actor: inHeader(
    "Chronicle-Actor",
    text("The actor. Default: the actor that the server knows for the caller", { maxLength: 100 }),
  ),
  Client: inHeader(
    "Chronicle-Client",
    text("The name of the client, which is kept with its changes", { maxLength: 100 }),
  ),
  IfMatch: inHeader(
    "If-Match",
    text('Makes the change only if the path has one of these ETags (`"<hash>"`); `*`: only if the path exists'),
  ),
  IfNoneMatch: inHeader("If-None-Match", text("`*`: makes the change only if the path does not exist", { const: "*" })),
  IfNoneMatchTag: inHeader(
    "If-None-Match",
    text("The ETags that the client has. If the content has one of them, the answer is 304"),
  ),
  Range: inHeader("Range", text("One range of bytes, such as `bytes=0-99`")),
  LastEventId: inHeader(
    "Last-Event-ID",
    whole("The seq of the last event that the client has. The events after it are sent"),
  ),
};

const HEADERS: JsonSchema = {
  ETag: text('The hash of the content, in quotes: `"<hash>"`'),
  Path: text("The path in readable form, percent-encoded"),
  PathB64: text("The bytes of the path in base64, if they are not UTF-8"),
  Kind: text("The kind of the entry", { enum: ["file", "symlink", "dir"] }),
  Size: whole("The size of the whole content, in bytes"),
  Permissions: whole("The permission bits, as a decimal number"),
  MtimeMs: {
    description: "The time of the last modification, in milliseconds since the epoch",
    schema: { type: "number" },
  },
  Iteration: whole("The number of the iteration"),
  Seq: whole("The seq of the event that recorded the iteration"),
};

const TAGS: Readonly<Record<string, string>> = {
  server: "The server and the caller",
  workspaces: "The workspaces of the store",
  files: "List, read, write, follow",
  history: "Reading the history",
  undo: "Restore, undo, redo and rollback",
  sessions: "Agents' sessions, and runs",
  actions: "Work of tools, reported before and after it",
  transactions: "Actions that are committed or rolled back as a whole",
  conflicts: "Conflicts, and versions: states that replicas wrote back and that were not accepted",
  records: "Records of users, in the same log",
  sync: "Folders of the server's machine that follow other stores. Only the owner of the server can use these, on the Unix socket or the page",
  upkeep: "Verification, retention and disk space",
};

const DESCRIPTION = `Every change to a workspace's files is an event in a hash-chained log, and every content is kept.

Lists are answered in pages. A page has \`items\`, and \`next\`, the \`cursor\` of the next page. An error is answered
with a problem (RFC 9457), which has a stable \`code\`. A change can have an \`Idempotency-Key\`, and can then be sent
again with the same key. A moment is a text: a snapshot's number, \`seq:40\`, an id or its beginning, a name,
\`latest\`, \`baseline\`, \`10m\`, an ISO 8601 time, or \`X~2\`. \`now\` is the state on disk.`;

/** Returns the OpenAPI 3.1 document of a table of routes. `components`: the schemas of the shapes in replies. */
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
      "/healthz": { get: healthOf("health", "Is the server running?") },
      "/readyz": { get: healthOf("readiness", "Can the server answer now?") },
    },
    components: {
      securitySchemes: {
        token: {
          type: "http",
          scheme: "bearer",
          description:
            "A token from `chronicle token create`. On the Unix socket, the owner of the server needs no token.",
        },
      },
      parameters: PARAMETERS,
      headers: HEADERS,
      schemas: { ...components, ...pagesOf(routes) },
    },
  };
}

/** Returns the operation of a health check. Monitoring calls it without a token. */
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
          next: { type: ["string", "null"], description: "The `cursor` of the next page; `null` on the last page" },
        },
        required: ["items", "next"],
      },
    ]),
  );
}
