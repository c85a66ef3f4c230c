import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Asking, Serving } from "./serving.ts";

/** Requests at the edges of what the router knows: paths, methods, bodies and queries that do not fit. */

let serving: Serving;

const FILES = "/v1/workspaces/w/files";
const HEAD = "/v1/workspaces/w/head";
const JSON_TYPE = { "content-type": "application/json" };

beforeAll(async () => {
  serving = await Serving.start({ limits: { jsonBytes: 4096 } });
  await serving.create("w");
  for (const [path, content] of [
    ["a/b", "in a folder"],
    ["a%2520b", "escaped twice"],
    ["a%23b", "hash"],
    ["a;b", "semicolon"],
    ["a%5Cb", "backslash"],
    ["%C3%BC", "umlaut"],
    ["a/history", "called so"],
  ] as const)
    await serving.put("w", path, content);
});
afterAll(() => serving[Symbol.asyncDispose]());

/** Returns the status, and the detail of a problem or else the content. */
async function told(path: string, asking: Asking = {}): Promise<string> {
  const { status, headers, text } = await serving.ask(path, asking);
  const isProblem = headers["content-type"]?.startsWith("application/problem+json") === true && text !== "";
  const words = isProblem ? (JSON.parse(text) as { detail: string }).detail : text;
  return [status, headers.allow === undefined ? "" : `(${headers.allow})`, words].filter((one) => one !== "").join(" ");
}

const NOTHING = "404 there is nothing here";
const UNDECODABLE = "400 this path is not UTF-8, percent-encoded once";

describe("a path", () => {
  it.each([
    [`${FILES}/a/b`, "200 in a folder"],
    [`${FILES}/a%2Fb`, "200 in a folder"],
    [`${FILES}/a%2fb?as=content`, "200 in a folder"],
    [`${FILES}/%61/b`, "200 in a folder"],
    [`/v1/%77orkspaces/%77/files/a/b`, "200 in a folder"],
    [`${FILES}/a%2520b`, "200 escaped twice"],
    [`${FILES}/a%23b`, "200 hash"],
    [`${FILES}/a;b`, "200 semicolon"],
    [`${FILES}/a%3Bb`, "200 semicolon"],
    [`${FILES}/a\\b`, "200 backslash"],
    [`${FILES}/%C3%BC`, "200 umlaut"],
    [`${FILES}/a%2Fhistory`, "200 called so"],
    [`${FILES}/a//b`, '400 path "a//b" is refused: it has an empty component'],
    [`${FILES}/a/../a/b`, '400 path "a/../a/b" is refused: it has a .. component'],
    [`${FILES}/a/%2e%2e/b`, '400 path "a/../b" is refused: it has a .. component'],
    [`${FILES}/a%00b`, '400 path "a\\u0000b" is refused: it has a NUL byte'],
    [`${FILES}/`, '404 "" was never recorded'],
    [`${FILES}/%ff`, UNDECODABLE],
    [`${FILES}/%c0%af`, UNDECODABLE],
    [`${FILES}/%zz`, UNDECODABLE],
    ["/v1/%ff", UNDECODABLE],
    ["/v1%2Fme", NOTHING],
    ["//v1/me", NOTHING],
    ["/v1/me/", NOTHING],
    ["/v1/./me", NOTHING],
    ["/v1/x/../me", NOTHING],
    ["/V1/me", NOTHING],
    ["/v1/me%00", NOTHING],
    ["/v1/me;a=1", NOTHING],
    ["/", NOTHING],
    [`/${"a".repeat(5_000)}`, NOTHING],
    ["/v1/workspaces//head", "404 there is no workspace of this name"],
    ["/v1/workspaces/a%2Fb/head", "404 there is no workspace of this name"],
    ["/v1/workspaces/w%20/head", "404 there is no workspace of this name"],
  ])("GET %s: %s", async (path, words) => {
    expect(await told(path)).toBe(words);
  });

  it.each(["http://127.0.0.1/v1/me", "https://x/v1/me", "x://y", "*", "/v1/me#x", "/v1/me#", `${FILES}/a#b`])(
    "%s is not found, with any method",
    async (target) => {
      for (const method of ["GET", "HEAD", "PUT", "DELETE", "OPTIONS"])
        expect(await told(target, { method })).toBe(method === "HEAD" ? "404" : NOTHING);
    },
  );

  it("with a fragment does not write or delete the path before the fragment", async () => {
    await serving.put("w", "x", "1");
    expect(await told(`${FILES}/x#`, { method: "PUT", body: "2" })).toBe(NOTHING);
    expect(await told(`${FILES}/x#`, { method: "DELETE" })).toBe(NOTHING);
    expect(await told(`${FILES}/x`)).toBe("200 1");
  });
});

describe("a method", () => {
  it.each([
    ["POST", "/v1/me", "405 (GET, HEAD) this path takes GET, HEAD only"],
    ["OPTIONS", "/v1/workspaces", "405 (GET, HEAD, POST) this path takes GET, HEAD, POST only"],
    ["PATCH", `${FILES}/a/b`, "405 (GET, HEAD, PUT, DELETE) this path takes GET, HEAD, PUT, DELETE only"],
    ["POST", `${FILES}/a/history`, "405 (GET, HEAD, PUT, DELETE) this path takes GET, HEAD, PUT, DELETE only"],
    ["TRACE", HEAD, "405 (GET, HEAD) this path takes GET, HEAD only"],
    ["PROPFIND", HEAD, "405 (GET, HEAD) this path takes GET, HEAD only"],
    ["GET", "/v1/gc", "405 (POST) this path takes POST only"],
    ["HEAD", "/v1/gc", "405 (POST)"],
    ["PROPFIND", "/v1/nothing", NOTHING],
    ["POST", "/v1/openapi.json", NOTHING],
    ["HEAD", "/v1/openapi.json", "404"],
    ["POST", "/v1/%6de?x=1", "405 (GET, HEAD) this path takes GET, HEAD only"],
    ["HEAD", `${FILES}/a/b`, "200"],
    ["HEAD", HEAD, "200"],
  ])("%s %s: %s", async (method, path, words) => {
    expect(await told(path, { method })).toBe(words);
  });

  it("is checked before the type of a body, and after its form", async () => {
    const ask = (type: string, body: string) =>
      told("/v1/me", { method: "POST", body, headers: { "content-type": type } });
    expect(await ask("text/plain", "x")).toContain("405");
    expect(await ask("application/json", "{}")).toContain("405");
    expect(await ask("application/json", "{")).toBe("400 this request is not well formed");
  });
});

describe("a body", () => {
  const make = "/v1/workspaces/w/transactions";
  const ask = (path: string, body: string, headers: Readonly<Record<string, string>> = JSON_TYPE) =>
    told(path, { method: "POST", body, headers });

  it.each([
    ["{", JSON_TYPE, "400 this request is not well formed"],
    ["", JSON_TYPE, "400 this request is not well formed"],
    ['{"__proto__":{}}', JSON_TYPE, "400 this request is not well formed"],
    ["null", JSON_TYPE, "400 body: must be an object"],
    ["[]", JSON_TYPE, "400 body: must be an object"],
    ['{"nope":1}', JSON_TYPE, "400 body: nope is not known here"],
    ["{}", {}, "415 a body here is JSON: Content-Type: application/json"],
    ["{}", { "content-type": "text/plain" }, "415 a body here is JSON: Content-Type: application/json"],
    ["{}", { "content-type": "garbage" }, "415 a body here is JSON: Content-Type: application/json"],
    ["{}", { ...JSON_TYPE, "content-encoding": "gzip" }, "415 a body must be sent without Content-Encoding"],
    [JSON.stringify("x".repeat(5_000)), JSON_TYPE, "413 this body is too large for this request"],
  ])("%s %j: %s", async (body, headers, words) => {
    expect(await ask(make, body, headers)).toBe(words);
  });

  it("is refused if the request takes none; the target, the query and the body are checked in this order", async () => {
    expect(await ask("/v1/workspaces/w/rebuild", "{}")).toBe("400 this request takes no body");
    expect(await ask("/v1/workspaces/w/rebuild", "null")).toBe("400 this request takes no body");
    expect(await told("/v1/workspaces/w/rebuild?x=1", { method: "POST" })).toBe("400 query: x is not known here");
    expect(await ask(`${make}?x=1`, '{"nope":1}')).toBe("400 query: x is not known here");
    expect(await ask("/v1/workspaces/none/transactions?x=1", '{"nope":1}')).toBe("404 there is no workspace none");
  });

  it("that is not well formed leaves the connection open", async () => {
    const asking = { method: "POST", body: "{", headers: { ...JSON_TYPE, connection: "keep-alive" } };
    expect((await serving.ask(make, asking)).headers.connection).toBe("keep-alive");
  });
});

describe("a query or a header", () => {
  it.each([
    ["/v1/workspaces?limit=%31", {}, "200"],
    ["/v1/workspaces?limit=1&limit=2", {}, "400 query.limit: must be a text"],
    ["/v1/workspaces?limit=1#x", {}, "400 query.limit: must be a whole number from 1"],
    ["/v1/workspaces?limit", {}, "400 query.limit: must be a whole number from 1"],
    ["/v1/me?a=%zz", {}, "400 query: a is not known here"],
    [`${FILES}/a/b?limit=1`, {}, "400 query: limit is not known here"],
    [`${FILES}/a/b/history?limit=0`, {}, "400 query.limit: must be at least 1"],
    [`${FILES}/a/history?as=history&as=content`, {}, "400 query.as: must be content"],
    [`${HEAD}`, { "last-event-id": "-1" }, "400 Last-Event-ID is not the seq of an event"],
    [`${HEAD}?x=1`, { "last-event-id": "-1" }, "400 query: x is not known here"],
  ])("%s %j: %s", async (path, headers, words) => {
    const answer = await told(path, { headers });
    expect(words === "200" ? answer.slice(0, 3) : answer).toBe(words);
  });
});
