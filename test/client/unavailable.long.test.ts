import { createServer as createPlain } from "node:http";
import { createServer as createTls } from "node:https";
import type { AddressInfo, Server } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { createClient } from "../../src/client/create-client.ts";
import { createClient as createNodeClient } from "../../src/client/create-node-client.ts";
import { unavailable } from "../../src/client/transport.ts";
import { CERTIFICATE, KEY } from "../server/tls-files.ts";

/** The errors of a server that cannot be reached have the cause and a remedy. */

const servers: Server[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) await new Promise((done) => server.close(done));
});

async function port(server: Server): Promise<number> {
  servers.push(server);
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  return (server.address() as AddressInfo).port;
}

const CLIENTS = [
  ["by fetch", createClient],
  ["by Node's HTTP", createNodeClient],
] as const;

/** Sends one request. Returns its error and the time that it took, in milliseconds. */
async function told(create: typeof createClient, url: string) {
  const began = performance.now();
  const error: unknown = await create({ url, token: "t" })
    .me()
    .catch((failure: unknown) => failure);
  return { error, ms: performance.now() - began };
}

describe.each(CLIENTS)("a server that does not fit its https: address is reported, %s", (_way, create) => {
  it("with an untrusted certificate, without further tries", async () => {
    const url = `https://127.0.0.1:${await port(createTls({ cert: CERTIFICATE, key: KEY }))}`;
    const { error, ms } = await told(create, url);
    expect(error).toMatchObject({
      code: "UNAVAILABLE",
      message: expect.stringContaining("its certificate is not trusted here: self-signed certificate"),
      hint: expect.stringContaining("NODE_EXTRA_CA_CERTS=FILE"),
    });
    expect(ms).toBeLessThan(1_500);
  });

  it("without TLS", async () => {
    const url = `https://127.0.0.1:${await port(createPlain())}`;
    const { error } = await told(create, url);
    expect(error).toMatchObject({
      message: expect.stringContaining("does not speak TLS"),
      hint: "use http:// for this server",
    });
  });
});

it.each([
  ["CERT_HAS_EXPIRED", "certificate has expired", "its certificate has expired"],
  ["CERT_NOT_YET_VALID", "certificate is not yet valid", "its certificate is not valid yet"],
])(
  "an error names an expired or not yet valid certificate, and does not propose to trust it: %s",
  (code, reason, words) => {
    const error = unavailable("https://a", Object.assign(new Error(reason), { code }));
    expect(error).toMatchObject({ message: expect.stringContaining(words), data: { lasting: true } });
    expect(error.hint).toContain("the clock of this machine");
    expect(error.hint).not.toContain("NODE_EXTRA_CA_CERTS");
  },
);

it("an error names a certificate for another name", () => {
  const behind = Object.assign(new Error("Hostname/IP does not match"), { code: "ERR_TLS_CERT_ALTNAME_INVALID" });
  const { message } = unavailable("https://a", new TypeError("fetch failed", { cause: behind }));
  expect(message).toContain("for another name");
});

it.each([createClient, createNodeClient])("a client without an address is refused", (create) => {
  const nothing = {} as { url: string };
  expect(() => create(nothing)).toThrow(expect.objectContaining({ code: "USAGE", message: "url is missing" }));
});

it("Node's client waits for an answer beyond the time limit of Node's fetch", async () => {
  // Node's own limit is five minutes. The test shortens it to 200 ms.
  const dispatcher = Symbol.for("undici.globalDispatcher.1");
  await fetch("data:,").then((response) => response.text());
  const all = globalThis as unknown as Record<symbol, { readonly constructor: new (limits: object) => never }>;
  const own = all[dispatcher];
  if (own === undefined) throw new Error("fetch has no dispatcher");
  all[dispatcher] = new own.constructor({ headersTimeout: 200, bodyTimeout: 200 });
  try {
    const slow = createPlain((_request, response) => {
      setTimeout(() => response.end(JSON.stringify({ version: "late" })), 3_000);
    });
    const url = `http://127.0.0.1:${await port(slow)}`;
    const retry = { tries: 1, firstWait: 1, longestWait: 1 };
    await expect(createClient({ url, token: "t", retry }).me()).rejects.toMatchObject({ code: "UNAVAILABLE" });
    expect(await createNodeClient({ url, token: "t", retry }).me()).toEqual({ version: "late" });
  } finally {
    all[dispatcher] = own;
  }
});

it.each(CLIENTS)(
  "a redirection is reported and not followed, %s, because the token is for this server only",
  async (_way, create) => {
    const asked: unknown[] = [];
    const other = createPlain((_request, response) => void asked.push(response.end("{}")));
    const location = `http://127.0.0.1:${await port(other)}/`;
    let tries = 0;
    const redirecting = createPlain((_request, response) => {
      tries += 1;
      response.writeHead(307, { location }).end();
    });
    const { error } = await told(create, `http://127.0.0.1:${await port(redirecting)}`);
    expect(error).toMatchObject({
      code: "UNAVAILABLE",
      message: `the server redirects to ${location}, which is not followed`,
    });
    expect([asked, tries]).toEqual([[], 1]);
  },
);
