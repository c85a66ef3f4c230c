import * as z from "zod";
import type { ReplyKind } from "../../src/api/routes/route.ts";
import type { Route } from "../../src/api/routes/row.ts";
import { isSchema, type JsonSchema } from "./json-schema.ts";

const shape = (name: string): JsonSchema => ({ $ref: `#/components/schemas/${name}` });
const parameter = (name: string): JsonSchema => ({ $ref: `#/components/parameters/${name}` });
const header = (name: string): JsonSchema => ({ $ref: `#/components/headers/${name}` });
const json = (schema: JsonSchema): JsonSchema => ({ "application/json": { schema } });
const bytes: JsonSchema = { "application/octet-stream": { schema: { type: "string", format: "binary" } } };

/** Descriptions of the `{names}` in paths. */
const PARAMS: Readonly<Record<string, string>> = {
  id: "the workspace: its whole id, or its exact name",
  path: "a path of the workspace, each component percent-encoded; a name that is not UTF-8 as `base64:<bytes>`",
  n: "the number of an iteration, or `last`",
  hash: "a SHA-256: 64 lower-case hex digits",
  action: "an action's id, its beginning, or the agent's own id of the call",
  session: "the session's id",
  transaction: "the transaction's id, or its beginning",
  sync: "the id of the folder's own workspace, its beginning, or the folder, percent-encoded",
};

/** The name of the component for a page of a shape. */
export function pageName(of: string): string {
  return `${of.replace(/Shape$/, "")}Page`;
}

/** A row as an operation of OpenAPI 3.1. */
export function operationOf(row: Route): JsonSchema {
  const isChange = row.method !== "GET";
  const role = `Needs the role \`${row.role}\`.`;
  return {
    operationId: row.operation,
    tags: [row.tag],
    summary: row.summary,
    description: row.description === undefined ? role : `${row.description}\n\n${role}`,
    parameters: [
      ...[...row.path.matchAll(/\{(\w+)\}/g)].map(([, name = ""]) => pathParameter(name)),
      ...queryParameters(row.query),
      ...(isChange ? [parameter("IdempotencyKey"), parameter("Actor"), parameter("Client")] : []),
      ...(row.conditional === true ? [parameter("IfMatch"), parameter("IfNoneMatch")] : []),
      ...("content" in row.reply ? [parameter("Range"), parameter("IfNoneMatchTag")] : []),
      ...("events" in row.reply && row.on === "workspace" ? [parameter("LastEventId")] : []),
    ],
    ...bodyOf(row),
    responses: {
      ...responsesOf(row.reply),
      ...(row.conditional === true ? { 412: problem(412) } : {}),
      default: problem(),
    },
  };
}

function problem(status?: number): JsonSchema {
  return {
    description: status === 412 ? "It is not as the condition says: nothing was changed" : "What went wrong",
    content: { "application/problem+json": { schema: shape("ProblemShape") } },
  };
}

function pathParameter(name: string): JsonSchema {
  return { name, in: "path", required: true, description: PARAMS[name] ?? "", schema: { type: "string" } };
}

/** A query is flat: each field of its schema is a parameter, of the type that its text stands for. */
function queryParameters(query: z.ZodType | undefined): JsonSchema[] {
  if (query === undefined) return [];
  const { properties, required } = z.toJSONSchema(query, { io: "output" });
  return Object.entries(properties ?? {}).map(([name, schema]) => {
    const { description, ...type } = isSchema(schema) ? schema : {};
    return {
      name,
      in: "query",
      required: required?.includes(name) ?? false,
      ...(description === undefined ? {} : { description }),
      schema: type,
    };
  });
}

function bodyOf(row: Route): JsonSchema {
  if (row.bytes !== undefined) return { requestBody: { required: row.method === "PUT", content: bytes } };
  if (row.body === undefined) return {};
  const { $schema: _, ...schema } = z.toJSONSchema(row.body, { io: "input" });
  return { requestBody: { required: (schema.required ?? []).length > 0, content: json(schema) } };
}

function responsesOf(reply: ReplyKind): JsonSchema {
  if ("json" in reply) {
    const one = shape(reply.json);
    const schema = reply.orNull === true ? { anyOf: [one, { type: "null" }] } : one;
    return { [reply.status ?? 200]: { description: "Done", content: json(schema) } };
  }
  if ("pageOf" in reply)
    return { 200: { description: "A part of the list", content: json(shape(pageName(reply.pageOf))) } };
  if ("nothing" in reply) return { 204: { description: "Done" } };
  if ("events" in reply) {
    const schema = { type: "string", description: `each \`data\` is a ${reply.events}, each \`id\` its seq` };
    return { 200: { description: "Events, as they are recorded", content: { "text/event-stream": { schema } } } };
  }
  return contentResponses();
}

function contentResponses(): JsonSchema {
  const names = ["Path", "PathB64", "Kind", "Size", "Permissions", "MtimeMs", "Iteration", "Seq"];
  const own = names.map((name): [string, JsonSchema] => [
    `Chronicle-${name.replaceAll(/(?<=[a-z])(?=[A-Z])/g, "-")}`,
    header(name),
  ]);
  const headers = { ETag: header("ETag"), ...Object.fromEntries(own) };
  return {
    200: { description: "The content", headers, content: bytes },
    206: { description: "The part that was asked for", headers, content: bytes },
    304: { description: "It is the content that you have" },
    416: { ...problem(), description: "This part cannot be given" },
  };
}
