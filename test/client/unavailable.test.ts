import { createServer as createPlain } from "node:http";
import { createServer as createTls } from "node:https";
import type { AddressInfo, Server } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { createClient } from "../../src/client/create-client.ts";
import { createClient as createNodeClient } from "../../src/client/create-node-client.ts";
import { unavailable } from "../../src/client/unavailable.ts";
import { CERTIFICATE, KEY } from "../server/tls-files.ts";

/** Why a server is not reached is told so that one knows what to do. */

const servers: Server[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) await new Promise((done) => server.close(done));
});

async function port(server: Server): Promise<number> {
  servers.push(server);
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  return (server.address() as AddressInfo).port;
}

/** What the first request is told, and how long that took. */
async function told(url: string) {
  const began = performance.now();
  const error: unknown = await createClient({ url, token: "t" })
    .me()
    .catch((failure: unknown) => failure);
  return { error, ms: performance.now() - began };
}

describe("a server that answers otherwise than its address says is not asked again", () => {
  it("with a certificate that nobody trusts", async () => {
    const url = `https://127.0.0.1:${await port(createTls({ cert: CERTIFICATE, key: KEY }))}`;
    const { error, ms } = await told(url);
    expect(error).toMatchObject({
      code: "UNAVAILABLE",
      message: expect.stringContaining("its certificate is not trusted here: self-signed certificate"),
      hint: expect.stringContaining("NODE_EXTRA_CA_CERTS=FILE"),
    });
    expect(ms).toBeLessThan(1_500);
  });

  it("without TLS", async () => {
    const url = `https://127.0.0.1:${await port(createPlain())}`;
    const { error } = await told(url);
    expect(error).toMatchObject({ message: expect.stringContaining("does not speak TLS"), hint: "use http:// for it" });
  });
});

it("a certificate for another name is told as one", () => {
  const behind = Object.assign(new Error("Hostname/IP does not match"), { code: "ERR_TLS_CERT_ALTNAME_INVALID" });
  const { message } = unavailable("https://a", new TypeError("fetch failed", { cause: behind }));
  expect(message).toContain("for another name");
});

it.each([createClient, createNodeClient])("without an address there is no client", (create) => {
  const nothing = {} as { url: string };
  expect(() => create(nothing)).toThrow(expect.objectContaining({ code: "USAGE", message: "url is missing" }));
});
