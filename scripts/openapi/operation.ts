import * as z from "zod";
import type { ReplyKind } from "../../src/api/routes/route.ts";
import type { Route } from "../../src/api/routes/row.ts";
import { isSchema, type JsonSchema } from "./json-schema.ts";

const shape = (name: string): JsonSchema => ({ $ref: `#/components/schemas/${name}` });
const parameter = (name: string): JsonSchema => ({ $ref: `#/components/parameters/${name}` });
const header = (name: string): JsonSchema => ({ $ref: `#/components/headers/${name}` });
const json = (schema: JsonSchema): JsonSchema => ({ "application/json": { schema } });
const bytes: JsonSchema = { "application/octet-stream": { schema: { type: "string", format: "binary" } } };

/** The descriptions of the parameters in paths (`{id}` …). */
const PARAMS: Readonly<Record<string, string>> = {
  id: "the whole id or the exact name of the workspace",
  path: "a path of the workspace, each component percent-encoded; a path that is not UTF-8 as `base64:<bytes>`",
  n: "the number of an iteration, or `last`",
  hash: "a SHA-256: 64 lower-case hex digits",
  action: "the id of the action, the beginning of the id, or the agent's own id of the tool call",
  session: "the id of the session",
  transaction: "the id of the transaction, or the beginning of the id",
  version: "the id of the version, in which the replica's id may be shortened to its beginning",
  sync: "the id of the folder's own workspace, the beginning of the id, or the percent-encoded path of the folder",
};

/** Returns the name of the component for a page of a shape. */
export function pageName(of: string): string {
  return `${of.replace(/Shape$/, "")}Page`;
}

/** Converts a row of the table of routes to an operation of OpenAPI 3.1. */
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
      ...(isResumable(row) ? [parameter("LastEventId")] : []),
    ],
    ...bodyOf(row),
    responses: {
      ...responsesOf(row.reply),
      ...(row.conditional === true ? { 412: problem(412) } : {}),
      default: problem(),
    },
  };
}

/** True if a client that was cut off can continue after the last event that it has. */
function isResumable({ on, reply }: Route): boolean {
  return on === "workspace" && "events" in reply && reply.ends !== true;
}

function problem(status?: number): JsonSchema {
  return {
    description: status === 412 ? "The condition does not hold. Nothing was changed" : "An error",
    content: { "application/problem+json": { schema: shape("ProblemShape") } },
  };
}

function pathParameter(name: string): JsonSchema {
  return { name, in: "path", required: true, description: PARAMS[name] ?? "", schema: { type: "string" } };
}

/**
 * Returns the query parameters of a route. A query is flat, so each field of its schema is one parameter. The type of a
 * parameter is that of the parsed value, not of its text.
 */
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
    return { 200: { description: "A page of the list", content: json(shape(pageName(reply.pageOf))) } };
  if ("nothing" in reply) return { 204: { description: "Done" } };
  if ("events" in reply) {
    const schema = { type: "string", description: `each \`data\` is a ${reply.events}, and each \`id\` is its seq` };
    const description = reply.ends === true ? "The steps of the work, until its end" : "Events, as they are recorded";
    return { 200: { description, content: { "text/event-stream": { schema } } } };
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
    206: { description: "The requested range of the content", headers, content: bytes },
    304: { description: "The client has this content already" },
    416: { ...problem(), description: "The content does not have the requested range" },
  };
}
