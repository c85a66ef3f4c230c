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
import { formProblem, makeProblem, type Problem, problemOf } from "./answers/problem.ts";
import { HeavyReads } from "./callers/heavy-reads.ts";
import { Refusals } from "./limits/refusals.ts";
import type { RequestTally } from "./limits/metrics.ts";
import { ConcurrencyLimit } from "./limits/concurrency-limit.ts";
import { replyProblem, SAFE_HEADERS } from "./answers/send.ts";
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

/** State of a request while Fastify handles it: first the caller, then the answer. */
interface OnItsWay {
  readonly visit: AdmittedRequest;
  answer?: RequestAnswer;
}

/** A property of Node's request, which Fastify passes on: a weak map would cost more than the request itself. */
const WAY = Symbol("way");

interface RecordedRequest extends IncomingMessage {
  [WAY]?: OnItsWay;
}

/** Makes the app that answers everything but hooks: each row of the table is a route of Fastify. */
export async function makeApp(options: AppOptions): Promise<ServerApp> {
  const shared = {
    ...options,
    refusals: new Refusals(),
    streams: new ConcurrencyLimit(options.limits.streams),
    heavy: new HeavyReads(options.limits.heavyReads),
  };
  const onError = (error: unknown, request: FastifyRequest, reply: FastifyReply): void =>
    fail(options, request, reply, error);
  const app = fastify({
    bodyLimit: options.limits.jsonBytes,
    exposeHeadRoutes: false,
    routerOptions: { maxParamLength: options.limits.headerBytes },
    // The rows bring their schemas along: Fastify's compilers of JSON schemas are not even loaded.
    schemaController: { compilersFactory: { buildValidator: () => noCompiler, buildSerializer: () => noCompiler } },
    frameworkErrors: onError,
    onProtoPoisoning: "error",
    onConstructorPoisoning: "error",
  });
  app.setErrorHandler(onError);
  const routes = mountedRoutes(options.routes);
  app.setNotFoundHandler((request, reply) => {
    options.tally?.name(request.raw, "none");
    const allow = methodsAt(routes, request.url).join(", ");
    if (allow === "") refuse(request, reply, makeProblem(404, "NOT_FOUND", "there is nothing here"));
    else refuse(request, reply, makeProblem(405, "USAGE", `this is asked by ${allow}`), { allow });
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
    // Bodies of all types, including JSON, stay bytes here, and are read when needed.
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
    answer: (request: RecordedRequest, response, visit) => {
      request[WAY] = { visit };
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

/** A target at which nothing is found. */
const NOWHERE = "*";

/**
 * False for a target that is a whole URL, which is for proxies, or has a fragment, which HTTP never sends (RFC 9112
 * §3.2). The router would look for its path without these: a write to `a#b` would be one to `a`.
 */
function isPath(url = ""): boolean {
  return url.startsWith("/") && !(url.includes("#") && /^[^?]*#/.test(url));
}

/** The rows, as the router can tell them apart. */
function mountedRoutes(rows: readonly Route[]): MountedRoute[] {
  const alike = Map.groupBy(rows, ({ method, path }) => `${method} ${urlOf(path)}`);
  return [...alike].map(([url, group]) => {
    const row = group.find(({ path }) => !path.includes("{path}/"));
    if (row === undefined) throw new Error(`${url}: of the rows that begin so, one has to end there`);
    return { url: urlOf(row.path), row, others: group.filter((one) => one !== row) };
  });
}

/** The path in the router's form. A wildcard can only be its end. */
function urlOf(path: string): string {
  return path.replace(/\{path\}.*$/, "*").replaceAll(/\{(\w+)\}/g, ":$1");
}

/** A request as a handler has it, with who asks. */
function wayOf(request: RecordedRequest): OnItsWay {
  const way = request[WAY];
  if (way === undefined) throw new Error("a request came in without having been admitted");
  return way;
}

function mount(scope: FastifyInstance, route: MountedRoute, shared: Shared & Pick<AppOptions, "tally">): void {
  const { url, row, others } = route;
  const { method, query = NO_QUERY, body } = row;
  scope.route({
    method: method === "GET" ? ["GET", "HEAD"] : method,
    url,
    // Of several rows, the workspace tells which is meant, and so which schema holds.
    ...(others.length > 0 ? {} : { schema: { querystring: query, ...optional({ body }) } }),
    // What does not fit is told only once the target was found: see `RequestAnswer`.
    attachValidation: true,
    // Runs before any body is read: the body of a refused request is never read.
    onRequest: (request, reply, done) => {
      const way = wayOf(request.raw);
      shared.tally?.name(request.raw, url);
      way.answer = new RequestAnswer({ request, visit: way.visit, route }, shared);
      const refusing = way.answer.begin();
      if (refusing === undefined) done();
      else refusing.catch((error: unknown) => reply.send(error));
    },
    ...(method === "GET" ? {} : { preValidation: takeBody }),
    handler: (request, reply) => wayOf(request.raw).answer?.send(reply),
  });
}

function takeBody({ raw }: FastifyRequest, _reply: FastifyReply, done: () => void): void {
  wayOf(raw).answer?.takeBody();
  done();
}

/**
 * Returns the methods by which a path is asked. Fastify says 404 for the wrong one, and its router does not tell why it
 * has found nothing (delvedor/find-my-way#75). Routes for all wrong methods would be as many again.
 */
function methodsAt(routes: readonly MountedRoute[], target: string): readonly string[] {
  const [path = ""] = target.split("?", 1);
  // As the router compares paths: what stays escaped is no slash. It has refused what cannot be decoded.
  const decoded = decodeURI(path);
  const fitting = routes.filter(({ url }) =>
    new RegExp(`^${url.replace("*", ".*").replaceAll(/:\w+/g, "[^/]*")}$`, "s").test(decoded),
  );
  return fitting.flatMap(({ row: { method } }) => (method === "GET" ? ["GET", "HEAD"] : [method]));
}

function sendDocument(request: FastifyRequest, reply: FastifyReply, document: Uint8Array | undefined): void {
  if (document === undefined) return refuse(request, reply, makeProblem(404, "NOT_FOUND", "it is not installed here"));
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

/** Replies to an error: of the form of the request, or thrown on the way to its answer. */
function fail({ hidden, report }: Answering, request: FastifyRequest, reply: FastifyReply, error: unknown): void {
  const { answer } = wayOf(request.raw);
  if (answer !== undefined) return answer.fail(reply, error);
  const commands = knowsCommands(request);
  const problem = isBadUrl(error) ? problemOf(undecodable(), { hidden, report, commands }) : formProblem(error);
  refuse(request, reply, problem ?? problemOf(error, { hidden, report, commands }));
}

/** The router could not decode it. */
function isBadUrl(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "FST_ERR_BAD_URL";
}

function undecodable(): ChronicleError {
  return new ChronicleError("PATH_INVALID", "this path is not UTF-8, percent-encoded once", {
    hint: "a name that is not UTF-8 stands there as base64: and its bytes in base64url",
  });
}
