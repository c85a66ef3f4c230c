import type { IncomingMessage, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import fastify, { type FastifyInstance, type FastifyRequest } from "fastify";
import type { Route } from "../api/routes/row.ts";
import type { AdmittedRequest } from "./callers/admission.ts";
import { type Answering, knowsCommands, RequestAnswer, type RequestHead, type Shared } from "./answer-request.ts";
import type { ServerApp, AdmittedUpgrade } from "./http-server.ts";
import { undecodable } from "./path-pattern.ts";
import { PlainRoutes } from "./plain-routes.ts";
import { makeProblem, type Problem, problemOf } from "./answers/problem.ts";
import { Encoded } from "./answers/received.ts";
import { HeavyReads } from "./callers/heavy-reads.ts";
import { Refusals } from "./limits/refusals.ts";
import type { RequestTally } from "./limits/request-tally.ts";
import { groupRows, type RowGroup } from "./row-index.ts";
import { ConcurrencyLimit } from "./limits/concurrency-limit.ts";
import { SAFE_HEADERS, sendProblem } from "./answers/send.ts";
import { discardRest } from "./limits/slow-peer.ts";
import { optional } from "../util/optional.ts";

/** The parts of the whole server. */
export interface AppOptions extends Answering {
  readonly routes: readonly Route[];
  /** The OpenAPI document, as it is checked in; `undefined`: it is not at hand. */
  readonly openapi: () => Uint8Array | undefined;
  readonly tally?: RequestTally;
  /** Takes upgrades to other protocols on the same ports. */
  readonly upgrade?: (request: IncomingMessage, socket: Duplex, visit: AdmittedUpgrade) => void;
}

/** State of a request while the router handles it: first the caller, then the answer. */
interface OnItsWay {
  readonly visit: AdmittedRequest;
  answer?: RequestAnswer;
}

/** A property of the request: a weak map would cost the garbage collector more than the request itself. */
const WAY = Symbol("way");

interface RecordedRequest extends IncomingMessage {
  [WAY]?: OnItsWay;
}

/** Makes the app that answers everything but hooks: every row of the table, on Fastify's router. */
export async function makeApp(options: AppOptions): Promise<ServerApp> {
  const shared = {
    ...options,
    refusals: new Refusals(),
    streams: new ConcurrencyLimit(options.limits.streams),
    heavy: new HeavyReads(options.limits.heavyReads),
  };
  const app = fastify({
    bodyLimit: options.limits.jsonBytes,
    exposeHeadRoutes: false,
    // Bodies and answers are checked by their own schemas, so Fastify compiles none.
    schemaController: { compilersFactory: { buildValidator: () => refuseSchema, buildSerializer: () => refuseSchema } },
    routerOptions: { maxParamLength: options.limits.headerBytes },
    frameworkErrors: (error, request, reply) => fail(options, reply.hijack().raw, { request: request.raw, error }),
    onProtoPoisoning: "error",
    onConstructorPoisoning: "error",
  });
  app.setErrorHandler((error, request, reply) => fail(options, reply.hijack().raw, { request: request.raw, error }));
  app.addHook("onRequest", ({ raw, routeOptions }, _reply, done) => {
    options.tally?.name(raw, routeOptions.url ?? "none");
    done();
  });
  const groups = groupRows(options.routes);
  app.setNotFoundHandler((request, reply) => notFound(groups, request.raw, reply.hijack().raw));
  app.removeContentTypeParser("text/plain");
  await app.register(async (scope) =>
    mount(
      scope,
      groups.filter(({ takesBytes }) => !takesBytes),
      shared,
    ),
  );
  await app.register(async (scope) => {
    // Bodies of all types, including JSON, stay bytes here, and are read when needed.
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser("*", (_request, _payload, done) => done(null));
    mount(
      scope,
      groups.filter(({ takesBytes }) => takesBytes),
      shared,
    );
  });
  app.get("/v1/openapi.json", (request, reply) => sendDocument(request.raw, reply.hijack().raw, options.openapi()));
  await app.ready();
  const plain = new PlainRoutes(groups);
  return {
    answer: (request: RecordedRequest, response, visit) => {
      const group = plain.find(request);
      if (group !== undefined) return void answerPlainly({ request, query: {}, visit, group }, response, shared);
      request[WAY] = { visit };
      app.routing(request, response);
    },
    ...optional({ upgrade: options.upgrade }),
    close: () => app.close(),
  };
}

function refuseSchema(): never {
  throw new Error("the table of routes has the schemas");
}

/** A request as a handler has it, with who asks. */
function wayOf(request: RecordedRequest): OnItsWay {
  const way = request[WAY];
  if (way === undefined) throw new Error("a request came in without having been admitted");
  return way;
}

/** Answers a request that needs no router and has no body. Never rejects. */
async function answerPlainly(
  head: RequestHead,
  response: ServerResponse,
  shared: Shared & Pick<AppOptions, "tally">,
): Promise<void> {
  const { request, group } = head;
  shared.tally?.name(request, group.url);
  try {
    const answer = await RequestAnswer.begin(head, shared);
    await answer.send(response, undefined);
  } catch (error) {
    fail(shared, response, { request, error });
  }
}

function mount(scope: FastifyInstance, groups: readonly RowGroup[], shared: Shared): void {
  for (const group of groups) {
    scope.route({
      method: group.method === "GET" ? ["GET", "HEAD"] : group.method,
      url: group.url,
      // Runs before any body is read: the body of a refused request is never read.
      onRequest: async (request) => begin(request, group, shared),
      handler: async (request, reply) => wayOf(request.raw).answer?.send(reply.hijack().raw, request.body),
    });
  }
}

async function begin({ raw, query }: FastifyRequest, group: RowGroup, shared: Shared): Promise<void> {
  const way = wayOf(raw);
  way.answer = await RequestAnswer.begin({ request: raw, query, visit: way.visit, group }, shared);
}

function notFound(groups: readonly RowGroup[], request: IncomingMessage, response: ServerResponse): void {
  const [path = "/"] = (request.url ?? "/").split("?", 1);
  const allowed = groups.filter((group) => matches(group, path)).map(({ method }) => method);
  if (allowed.length === 0) return refuse(request, response, makeProblem(404, "NOT_FOUND", "there is nothing here"));
  const allow = [...new Set(allowed.flatMap((one) => (one === "GET" ? ["GET", "HEAD"] : [one])))].join(", ");
  refuse(request, response, makeProblem(405, "USAGE", `this is asked by ${allow}`), { allow });
}

function matches(group: RowGroup, path: string): boolean {
  try {
    return group.find(path) !== undefined;
  } catch (error) {
    if (error instanceof URIError) return false;
    throw error;
  }
}

function sendDocument(request: IncomingMessage, response: ServerResponse, document: Uint8Array | undefined): void {
  if (document === undefined)
    return refuse(request, response, makeProblem(404, "NOT_FOUND", "it is not installed here"));
  response.writeHead(200, {
    ...SAFE_HEADERS,
    "content-type": "application/json; charset=utf-8",
    "content-length": document.length,
  });
  response.end(document);
}

function refuse(
  request: IncomingMessage,
  response: ServerResponse,
  problem: Problem,
  headers?: Readonly<Record<string, string>>,
): void {
  sendProblem(response, problem, headers);
  discardRest(request);
}

/** Replies to errors of Fastify itself, which only concern the form of the request. */
function fail(
  { hidden, report }: Answering,
  response: ServerResponse,
  { request, error }: { readonly request: IncomingMessage; readonly error: unknown },
): void {
  refuse(
    request,
    response,
    formProblem(error) ??
      problemOf(isBadUrl(error) ? undecodable() : error, { hidden, report, commands: knowsCommands(request) }),
  );
}

/** The router could not decode it. */
function isBadUrl(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "FST_ERR_BAD_URL";
}

function formProblem(error: unknown): Problem | undefined {
  if (isBadUrl(error)) return undefined;
  if (error instanceof Encoded) return makeProblem(415, "USAGE", error.message);
  if (!(error instanceof Error) || !("statusCode" in error) || typeof error.statusCode !== "number") return undefined;
  const { statusCode: status } = error;
  if (status === 413) return makeProblem(413, "LIMIT_EXCEEDED", "this body is larger than is taken here");
  if (status === 415) return makeProblem(415, "USAGE", "a body here is JSON: Content-Type: application/json");
  if (status === 414) return makeProblem(414, "USAGE", "this path is too long");
  return status >= 400 && status < 500 ? makeProblem(status, "USAGE", "this request is not well formed") : undefined;
}
