import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { exportJWK, exportSPKI, generateKeyPair, type JWTPayload, SignJWT } from "jose";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { Authenticator } from "./authenticate.ts";
import { MemoryTokenStore } from "./token.ts";
import { oidcIssuer } from "./oidc.ts";

// The tokens in these tests come from an OpenID provider (`Provider`) that runs in this process.

type Pair = Awaited<ReturnType<typeof generateKeyPair>>;

const HOUR = 3_600;

class Provider {
  asked: string[] = [];
  isAway = false;
  /** The issuer that the provider's metadata names. Default: `url`. */
  callsItself: string | undefined;
  readonly #server: Server;
  readonly #keys: { readonly kid: string; readonly pair: Pair }[] = [];
  url = "";

  constructor() {
    this.#server = createServer((request, response) => {
      this.asked.push(request.url ?? "");
      if (this.isAway) return void response.writeHead(503).end();
      void this.#answer(request.url ?? "").then((value) => response.end(JSON.stringify(value)));
    });
  }

  async listen(): Promise<void> {
    await new Promise<void>((done) => this.#server.listen(0, "127.0.0.1", done));
    this.url = `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((done) => this.#server.close(done));
  }

  /** Makes a new key, and returns it. The provider no longer publishes the earlier key. */
  async rotate(kid: string): Promise<Pair> {
    const pair = await generateKeyPair("ES256", { extractable: true });
    this.#keys.splice(0, 1, { kid, pair });
    return pair;
  }

  async token(claims: JWTPayload, { issuer = this.url, key }: { issuer?: string; key?: Pair } = {}): Promise<string> {
    const [own] = this.#keys;
    if (own === undefined) throw new Error("no key");
    const all = { aud: "chronicle", sub: "mina", exp: Math.floor(Date.now() / 1000) + HOUR, ...claims };
    const token = new SignJWT(all).setProtectedHeader({ alg: "ES256", kid: own.kid }).setIssuer(issuer);
    return token.sign((key ?? own.pair).privateKey);
  }

  async #answer(url: string): Promise<unknown> {
    if (url !== "/keys") return { issuer: this.callsItself ?? this.url, jwks_uri: `${this.url}/keys` };
    const keys = this.#keys.map(async ({ kid, pair }) => ({ ...(await exportJWK(pair.publicKey)), kid, alg: "ES256" }));
    return { keys: await Promise.all(keys) };
  }
}

let provider: Provider;
let first: Pair;

beforeEach(async () => {
  provider = new Provider();
  await provider.listen();
  first = await provider.rotate("first");
});
afterEach(() => provider.close());

const issuerOf = (more: Partial<Parameters<typeof oidcIssuer>[0]> = {}) =>
  oidcIssuer({
    issuer: provider.url,
    audience: "chronicle",
    roleClaim: "chronicle_role",
    workspacesClaim: "chronicle_workspaces",
    now: () => Date.now(),
    newKeyMs: 0,
    ...more,
  });

const agent = { chronicle_role: "agent", chronicle_workspaces: ["session-1"] };
const inAnHour = (): number => Math.floor(Date.now() / 1000) + HOUR;

describe("a token of the provider", () => {
  it("gives the caller the role and the workspaces of its claims", async () => {
    const callerOf = issuerOf();
    const caller = await callerOf(await provider.token({ ...agent, preferred_username: "Mina M." }));
    expect(caller).toEqual({
      id: "oidc:mina",
      name: "Mina M.",
      role: "agent",
      workspaces: ["session-1"],
      isOwner: false,
    });
    expect(await callerOf(await provider.token({ ...agent, chronicle_workspaces: "a b" }))).toMatchObject({
      workspaces: ["a", "b"],
    });
    const all = await callerOf(await provider.token({ ...agent, chronicle_workspaces: "*" }));
    expect([all?.role, all !== undefined && "workspaces" in all]).toEqual(["agent", false]);
    expect(await callerOf(await provider.token({ chronicle_role: ["x", "operator", "reader"] }))).toMatchObject({
      role: "operator",
      workspaces: [],
    });
  });

  it.each([
    ["if it has no role", {}],
    ["if its role is unknown", { chronicle_role: "admin" }],
    ["if it has expired", { ...agent, exp: Math.floor(Date.now() / 1000) - 60 }],
    ["if it never expires", { ...agent, exp: undefined }],
    ["if it is not valid yet", { ...agent, nbf: inAnHour() }],
    ["if it is for another audience", { ...agent, aud: "another" }],
    ["if it has no subject", { ...agent, sub: undefined }],
  ] as const)("gives no caller %s", async (_name, claims) => {
    expect(await issuerOf()(await provider.token(claims as JWTPayload))).toBeUndefined();
  });

  it("gives no caller if its key or issuer is another one, or if it is unsigned or signed with a shared secret", async () => {
    const callerOf = issuerOf();
    const other = await generateKeyPair("ES256");
    expect(await callerOf(await provider.token(agent, { key: other }))).toBeUndefined();
    expect(await callerOf(await provider.token(agent, { issuer: "https://evil.example" }))).toBeUndefined();
    const part = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString("base64url");
    const claims = { ...agent, iss: provider.url, aud: "chronicle", sub: "mina", exp: inAnHour() };
    expect(await callerOf(`${part({ alg: "none" })}.${part(claims)}.`)).toBeUndefined();
    const secret = new TextEncoder().encode(await exportSPKI(first.publicKey));
    const forged = await new SignJWT(claims).setProtectedHeader({ alg: "HS256", kid: "first" }).sign(secret);
    expect(await callerOf(forged)).toBeUndefined();
    for (const text of ["", "a.b.c", "chr_x", "...."]) expect(await callerOf(text)).toBeUndefined();
  });

  it("of another issuer is checked without asking the provider", async () => {
    await issuerOf()(await provider.token(agent, { issuer: "https://evil.example" }));
    expect(provider.asked).toEqual([]);
  });
});

describe("the provider", () => {
  it("is asked once, and again for an unknown key", async () => {
    const callerOf = issuerOf();
    for (let i = 0; i < 3; i += 1) await callerOf(await provider.token(agent));
    expect(provider.asked).toEqual(["/.well-known/openid-configuration", "/keys"]);
    const old = await provider.token(agent);
    await provider.rotate("second");
    expect((await callerOf(await provider.token(agent)))?.role).toBe("agent");
    expect(provider.asked).toHaveLength(3);
    expect(await callerOf(old)).toBeUndefined();
  });

  it("has its tokens accepted, also new ones, while others send wrong tokens from the same address", async () => {
    const authenticator = new Authenticator({ book: new MemoryTokenStore(), others: issuerOf(), now: () => 0 });
    const statuses: unknown[] = [];
    for (let i = 0; i < 12; i += 1) statuses.push(await authenticator.callerOf("Bearer wrong", "1.2.3.4"));
    expect(statuses.at(-1)).toMatchObject({ status: 429 });
    for (const sub of ["mina", "otto"]) {
      const token = await provider.token({ ...agent, sub });
      expect(await authenticator.callerOf(`Bearer ${token}`, "1.2.3.4")).toMatchObject({ id: `oidc:${sub}` });
    }
  });

  it("that is away causes a 503, and no token counts as wrong", async () => {
    let now = Date.now();
    const authenticator = new Authenticator({
      book: new MemoryTokenStore(),
      others: issuerOf({ now: () => now }),
      now: () => now,
    });
    const token = `Bearer ${await provider.token(agent)}`;
    provider.isAway = true;
    for (let i = 0; i < 20; i += 1) {
      expect(await authenticator.callerOf(token, "1.2.3.4")).toMatchObject({ status: 503, code: "UNAVAILABLE" });
    }
    expect(provider.asked).toHaveLength(1);
    provider.isAway = false;
    now += 6_000;
    expect(await authenticator.callerOf(token, "1.2.3.4")).toMatchObject({ role: "agent" });
    provider.isAway = true;
    now += 1_800_000;
    expect(await authenticator.callerOf(token, "1.2.3.4")).toMatchObject({ role: "agent" });
  });

  it("that is away for long does not invalidate the keys that are known already", async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    try {
      const callerOf = issuerOf({ newKeyMs: 10_000 });
      const token = await provider.token(agent);
      expect(await callerOf(token)).toMatchObject({ role: "agent" });
      provider.isAway = true;
      vi.setSystemTime(Date.now() + 1_800_000);
      for (let i = 0; i < 5; i += 1) expect(await callerOf(token)).toMatchObject({ role: "agent" });
      // The metadata was read once. The keys were read at first, and once more, in vain, while the provider was away.
      expect(provider.asked).toEqual(["/.well-known/openid-configuration", "/keys", "/keys"]);
      provider.isAway = false;
      await provider.rotate("second");
      vi.setSystemTime(Date.now() + 6_000);
      expect(await callerOf(await provider.token(agent))).toMatchObject({ role: "agent" });
      expect(await callerOf(token)).toBeUndefined();
    } finally {
      vi.useRealTimers();
    }
  });

  it("must name itself as the issuer that was asked for", async () => {
    provider.callsItself = "https://evil.example";
    await expect(issuerOf()(await provider.token(agent))).rejects.toMatchObject({ code: "UNAVAILABLE" });
  });
});
