import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { exportJWK, generateKeyPair, SignJWT } from "jose";
import { afterAll, beforeAll, expect, it } from "vitest";
import { plannedOidc } from "../../src/cli/serving/serve-plan.ts";
import { Serving } from "./serving.ts";

/** Tokens of an OpenID provider in requests to a server, and the options for them on the command line. */

const { publicKey, privateKey } = await generateKeyPair("RS256");
const provider = createServer((request, response) => {
  void (async () => {
    const keys = [{ ...(await exportJWK(publicKey)), kid: "k", alg: "RS256" }];
    response.end(JSON.stringify(request.url === "/keys" ? { keys } : { issuer, jwks_uri: `${issuer}/keys` }));
  })();
});
let issuer = "";
let serving: Serving;

beforeAll(async () => {
  await new Promise<void>((done) => provider.listen(0, "127.0.0.1", done));
  issuer = `http://127.0.0.1:${(provider.address() as AddressInfo).port}`;
  const oidc = { issuer, audience: "chronicle", roleClaim: "chronicle_role", workspacesClaim: "chronicle_workspaces" };
  serving = await Serving.start({ oidc });
  await serving.create("mine");
  await serving.create("theirs");
});
afterAll(async () => {
  await serving[Symbol.asyncDispose]();
  provider.closeAllConnections();
  provider.close();
});

const bearer = (claims: Record<string, unknown>, seconds = 60): Promise<string> =>
  new SignJWT({ aud: "chronicle", sub: "mina", ...claims })
    .setProtectedHeader({ alg: "RS256", kid: "k" })
    .setIssuer(issuer)
    .setExpirationTime(Math.floor(Date.now() / 1000) + seconds)
    .sign(privateKey);

it("a token of a provider allows what its claims say, and no more", async () => {
  const token = await bearer({ chronicle_role: "agent", chronicle_workspaces: ["mine"] });
  expect((await serving.ask("/v1/me", { token })).json()).toMatchObject({
    role: "agent",
    name: "mina",
    workspaces: ["mine"],
  });
  expect((await serving.put("mine", "a", "1", { token })).status).toBe(200);
  expect((await serving.put("theirs", "a", "1", { token })).status).toBe(404);
  expect((await serving.send("/v1/workspaces/mine/prune", {}, { token })).status).toBe(403);
  const reader = await bearer({ chronicle_role: "reader", chronicle_workspaces: "*" });
  expect((await serving.read("theirs", "a", { token: reader })).status).toBe(404);
  expect((await serving.put("mine", "a", "2", { token: reader })).status).toBe(403);
  expect((await serving.ask("/v1/me", { token: await bearer({}) })).status).toBe(401);
  expect((await serving.ask("/v1/me", { token: await bearer({ chronicle_role: "operator" }, -60) })).status).toBe(401);
});

it("a caller can use an idempotency key, however long the subject of its token is", async () => {
  const claims = { sub: "s".repeat(255), chronicle_role: "agent", chronicle_workspaces: ["mine"] };
  const asking = { token: await bearer(claims), headers: { "idempotency-key": "k".repeat(128) } };
  const first = await serving.put("mine", "long", "1", asking);
  expect(first.status).toBe(200);
  expect((await serving.put("mine", "long", "1", asking)).json()).toEqual(first.json());
  expect((await serving.put("mine", "long", "2", asking)).status).toBe(422);
  const other = { ...asking, token: await bearer({ ...claims, sub: `${"s".repeat(254)}t` }) };
  expect((await serving.put("mine", "long", "2", other)).status).toBe(200);
});

it.each([
  [{ oidcAudience: "x" }, true, "--oidc-issuer"],
  [{ oidcIssuer: "https://a.example" }, true, "--oidc-audience"],
  [{ oidcIssuer: "https://a.example", oidcAudience: "x" }, false, "a port"],
  [{ oidcIssuer: "http://a.example", oidcAudience: "x" }, true, "no https"],
  [{ oidcIssuer: "nonsense", oidcAudience: "x" }, true, "no https"],
])("a command line that is unsafe or incomplete is refused: %o", (given: Record<string, string>, hasPorts, words) => {
  const input = { text: (name: string) => given[name] };
  expect(() => plannedOidc({ input } as unknown as Parameters<typeof plannedOidc>[0], hasPorts)).toThrow(words);
});
