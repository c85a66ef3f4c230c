import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from "fastify";
import type * as z from "zod";
import type { Route } from "../api/routes/row.ts";
import { NO_QUERY, validate } from "../api/routes/validate.ts";
import { ChronicleError } from "../core/values/errors.ts";
import type { AdmittedRequest } from "./callers/admission.ts";
import { type Answering, knowsCommands, type MountedRoute, RequestAnswer, type Shared } from "./answer-request.ts";
import type { ServerApp, AdmittedUpgrade } from "./http-server.ts";
import { answerCompression } from "./answers/compress.ts";
import { formProblem, makeProblem, type Problem, problemOf } from "./answers/problem.ts";
import type { Heavy } from "../api/routes/row.ts";
import type { ServerLimits } from "./limits/limits.ts";
import { HeavyReads } from "./callers/heavy-reads.ts";
import { Refusals } from "./limits/refusals.ts";
import type { RequestTally } from "./limits/metrics.ts";
import { ConcurrencyLimit } from "./limits/concurrency-limit.ts";
import { replyProblem, SAFE_HEADERS } from "./answers/send.ts";
import { discardRest } from "./limits/slow-peer.ts";
import { optional } from "../util/optional.ts";

export interface AppOptions extends Answering {
  readonly routes: readonly Route[];
  /** Returns the OpenAPI document as JSON, or `undefined` if the document is not installed. */
  readonly openapi: () => Uint8Array | undefined;
  readonly tally?: RequestTally;
  readonly upgrade?: (request: IncomingMessage, socket: Duplex, visit: AdmittedUpgrade) => void;
}

interface RequestState {
  readonly visit: AdmittedRequest;
  /** Set once Fastify has found the route. */
  answer?: RequestAnswer;
}

/**
 * The property of Node's request object that holds the state. Looking up the state in a weak map would take more time
 * than all other work for a request.
 */
const STATE = Symbol("state");

interface StatefulRequest extends IncomingMessage {
  [STATE]?: RequestState;
}

function heavyReads({ heavyReads: most }: ServerLimits): Readonly<Record<Heavy, HeavyReads>> {
  return {
    history: new HeavyReads(most, "checks of histories"),
    answer: new HeavyReads(most, "large answers"),
    scan: new HeavyReads(most, "reads of what is on disk now"),
  };
}

/**
 * Makes the app, which answers all requests that are not for quick routes. The rows of the table become routes of
 * Fastify.
 */
export async function makeApp(options: AppOptions): Promise<ServerApp> {
  const shared = {
    ...options,
    refusals: new Refusals(),
    streams: new ConcurrencyLimit(options.limits.streams),
    heavy: heavyReads(options.limits),
  };
  const onError = (error: unknown, request: FastifyRequest, reply: FastifyReply): void =>
    fail(options, request, reply, error);
  const app = fastify({
    bodyLimit: options.limits.jsonBytes,
    exposeHeadRoutes: false,
    routerOptions: { maxParamLength: options.limits.headerBytes },
    // Do not load Fastify's compilers of JSON schemas, because the rows have zod schemas.
    schemaController: { compilersFactory: { buildValidator: () => noCompiler, buildSerializer: () => noCompiler } },
    frameworkErrors: onError,
    onProtoPoisoning: "error",
    onConstructorPoisoning: "error",
  });
  app.setErrorHandler(onError);
  app.addHook("onSend", answerCompression());
  const routes = mountedRoutes(options.routes);
  app.setNotFoundHandler((request, reply) => {
    options.tally?.name(request.raw, "none");
    const allow = methodsAt(routes, request.url).join(", ");
    if (allow === "") refuse(request, reply, makeProblem(404, "NOT_FOUND", "there is nothing here"));
    else refuse(request, reply, makeProblem(405, "USAGE", `this path takes ${allow} only`), { allow });
  });
  app.setValidatorCompiler<z.ZodType>(
    ({ schema, httpPart }) =>
      (given) =>
        validate(schema, given, httpPart === "body" ? "body" : "query"),
  );
  app.removeContentTypeParser("text/plain");
  await app.register(async (scope) => {
    for (const route of routes) if (route.row.bytes === undefined) mount(scope, route, shared);
  });
  await app.register(async (scope) => {
    // The bodies of rows with `bytes` are read as bytes, and never parsed.
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser("*", (_request, _payload, done) => done(null));
    for (const route of routes) if (route.row.bytes !== undefined) mount(scope, route, shared);
  });
  app.get("/v1/openapi.json", (request, reply) => {
    options.tally?.name(request.raw, "/v1/openapi.json");
    sendDocument(request, reply, options.openapi());
  });
  await app.ready();
  return {
    answer: (request: StatefulRequest, response, visit) => {
      request[STATE] = { visit };
      if (!isPath(request.url)) request.url = NOWHERE;
      app.routing(request, response);
    },
    ...optional({ upgrade: options.upgrade }),
    close: () => app.close(),
  };
}

function noCompiler(): never {
  throw new Error("the table of routes has the schemas");
}

/** A request target that matches no route. */
const NOWHERE = "*";

/**
 * True if a request target is a path. False for a whole URL, which is only for proxies, and for a target with a
 * fragment, which is not allowed (RFC 9112 §3.2). The router would ignore the host or the fragment. For example, a
 * write to `a#b` would change `a`.
 */
function isPath(url = ""): boolean {
  return url.startsWith("/") && !(url.includes("#") && /^[^?]*#/.test(url));
}

/** Returns the routes for the rows. Rows that the router cannot distinguish share one route. */
function mountedRoutes(rows: readonly Route[]): MountedRoute[] {
  const groups = Map.groupBy(rows, ({ method, path }) => `${method} ${urlOf(path)}`);
  return [...groups].map(([url, group]) => {
    const row = group.find(({ path }) => !path.includes("{path}/"));
    if (row === undefined) throw new Error(`${url}: one of these rows must end with its {path}`);
    return { url: urlOf(row.path), row, others: group.filter((one) => one !== row) };
  });
}

/** Returns a row's path in the form of the router, in which a wildcard must be the last component. */
function urlOf(path: string): string {
  return path.replace(/\{path\}.*$/, "*").replaceAll(/\{(\w+)\}/g, ":$1");
}

function stateOf(request: StatefulRequest): RequestState {
  const state = request[STATE];
  if (state === undefined) throw new Error("a request came in without having been admitted");
  return state;
}

function mount(scope: FastifyInstance, route: MountedRoute, shared: Shared & Pick<AppOptions, "tally">): void {
  const { url, row, others } = route;
  const { method, query = NO_QUERY, body } = row;
  scope.route({
    method: method === "GET" ? ["GET", "HEAD"] : method,
    url,
    // If several rows share the URL, validate later, because only the workspace can tell which row is requested.
    ...(others.length > 0 ? {} : { schema: { querystring: query, ...optional({ body }) } }),
    // Fastify must not refuse an invalid request. `RequestAnswer` refuses it once the target is found.
    attachValidation: true,
    // Runs before the body is read, so that the body of a refused request is never read.
    onRequest: (request, reply, done) => {
      const state = stateOf(request.raw);
      shared.tally?.name(request.raw, url);
      state.answer = new RequestAnswer({ request, visit: state.visit, route }, shared);
      const refusing = state.answer.begin();
      if (refusing === undefined) done();
      else refusing.catch((error: unknown) => reply.send(error));
    },
    ...(method === "GET" ? {} : { preValidation: takeBody }),
    // Returns no promise, because Fastify would send an empty answer if an answer is still being compressed at its end.
    handler: (request, reply) => {
      stateOf(request.raw)
        .answer?.send(reply)
        .catch((error: unknown) => reply.send(error));
    },
  });
}

function takeBody({ raw }: FastifyRequest, _reply: FastifyReply, done: () => void): void {
  stateOf(raw).answer?.takeBody();
  done();
}

/**
 * Returns the methods of the routes with this path, for a reply with status 405. Fastify's router does not tell why it
 * has found no route (delvedor/find-my-way#75).
 */
function methodsAt(routes: readonly MountedRoute[], target: string): readonly string[] {
  const [path = ""] = target.split("?", 1);
  // As in the router, an escaped slash does not separate components. The router has already refused paths that cannot
  // be decoded.
  const decoded = decodeURI(path);
  const fitting = routes.filter(({ url }) =>
    new RegExp(`^${url.replace("*", ".*").replaceAll(/:\w+/g, "[^/]*")}$`, "s").test(decoded),
  );
  return fitting.flatMap(({ row: { method } }) => (method === "GET" ? ["GET", "HEAD"] : [method]));
}

function sendDocument(request: FastifyRequest, reply: FastifyReply, document: Uint8Array | undefined): void {
  if (document === undefined)
    return refuse(request, reply, makeProblem(404, "NOT_FOUND", "the OpenAPI document is not installed here"));
  reply.headers({ ...SAFE_HEADERS, "content-type": "application/json; charset=utf-8" }).send(document);
}

function refuse(
  { raw }: FastifyRequest,
  reply: FastifyReply,
  problem: Problem,
  headers?: Readonly<Record<string, string>>,
): void {
  replyProblem(reply, problem, headers);
  discardRest(raw);
}

function fail({ hidden, report }: Answering, request: FastifyRequest, reply: FastifyReply, error: unknown): void {
  const { answer } = stateOf(request.raw);
  if (answer !== undefined) return answer.fail(reply, error);
  const commands = knowsCommands(request);
  const problem = isBadUrl(error) ? problemOf(undecodable(), { hidden, report, commands }) : formProblem(error);
  refuse(request, reply, problem ?? problemOf(error, { hidden, report, commands }));
}

function isBadUrl(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "FST_ERR_BAD_URL";
}

function undecodable(): ChronicleError {
  return new ChronicleError("PATH_INVALID", "this path is not UTF-8, percent-encoded once", {
    hint: "write a name that is not UTF-8 as base64: followed by its bytes in base64url",
  });
}
