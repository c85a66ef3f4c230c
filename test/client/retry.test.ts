import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { describe, expect, it } from "vitest";
import { createClient } from "../../src/client/create-client.ts";
import { createClient as createNodeClient } from "../../src/client/create-node-client.ts";
import { hangUp, json, problem, ScriptedPeer } from "./scripted-peer.ts";
import { OwnTime } from "../helpers/own-time.ts";

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const head = { workspace: "w", seq: 1, hash: "h", log_root: "", root: "", note: "", key: "" };

describe("the client", () => {
  it("repeats a read after temporary errors", async () => {
    await using peer = await ScriptedPeer.start(
      hangUp,
      problem(503, "LOCKED"),
      problem(429, "RATE_LIMITED"),
      json(head),
    );
    expect(await peer.client().workspace("w").head()).toEqual(head);
    expect(peer.requests).toHaveLength(4);
  });

  it("gives up after four tries, with the last error of the server", async () => {
    await using peer = await ScriptedPeer.start(hangUp, problem(503, "LOCKED", { hint: "wait" }));
    await expect(peer.client().workspace("w").head()).rejects.toMatchObject({ code: "LOCKED", hint: "wait" });
    expect(peer.requests).toHaveLength(4);
  });

  it("does not repeat a read after a lasting error", async () => {
    await using peer = await ScriptedPeer.start(problem(404, "NOT_FOUND", { data: { path: "a" } }), json(head));
    const asked = peer.client().workspace("w").head();
    await expect(asked).rejects.toMatchObject({ code: "NOT_FOUND", data: { path: "a" }, message: "it is NOT_FOUND" });
    expect(peer.requests).toHaveLength(1);
  });

  it("repeats a change with the same idempotency key, and uses another key for each change", async () => {
    await using peer = await ScriptedPeer.start(hangUp, json({ seq: 1 }), json({ seq: 2 }));
    const workspace = peer.client().workspace("w");
    await workspace.putFile("a.txt", bytes("x"));
    await workspace.undo();
    const [first, again, other] = peer.requests.map(({ headers }) => headers["idempotency-key"]);
    expect(first).toMatch(/^[0-9a-f]{32}$/);
    expect(again).toBe(first);
    expect(other).not.toBe(first);
    expect(peer.requests.map(({ method, url }) => `${method} ${url}`)).toEqual([
      "PUT /v1/workspaces/w/files/a.txt",
      "PUT /v1/workspaces/w/files/a.txt",
      "POST /v1/workspaces/w/undo",
    ]);
  });

  it("does not repeat a write whose content can be read only once", async () => {
    await using peer = await ScriptedPeer.start(problem(503, "LOCKED"), json({ seq: 1 }));
    async function* content(): AsyncIterable<Uint8Array> {
      yield bytes("once");
      await Promise.resolve();
    }
    await expect(peer.client().workspace("w").putFile("a.txt", content())).rejects.toMatchObject({ code: "LOCKED" });
    expect(peer.requests.map(({ body }) => body)).toEqual(["once"]);
  });

  it("does not repeat a request if the server asks for a longer wait than the client's limit", async () => {
    await using peer = await ScriptedPeer.start(problem(429, "RATE_LIMITED", {}, { "retry-after": "60" }), json(head));
    await expect(peer.client().workspace("w").head()).rejects.toMatchObject({ code: "RATE_LIMITED" });
    expect(peer.requests).toHaveLength(1);
  });

  it("does not wait again for the time of an earlier answer after a try without an answer", async () => {
    const busy = problem(429, "RATE_LIMITED", {}, { "retry-after": "1" });
    await using peer = await ScriptedPeer.start(busy, hangUp, hangUp, json(head));
    const retry = { tries: 5, firstWait: 1, longestWait: 2_000 };
    using own = new OwnTime();
    await createClient({ url: peer.url, token: "t", retry }).workspace("w").head();
    expect(peer.requests).toHaveLength(4);
    expect(own.ms).toBeLessThan(1_900);
  });
});

describe("a response", () => {
  it("with a content that is cut off is continued where it stopped", async () => {
    const shape = { path: "a", kind: "file", size: 10, hash: "", permissions: 420, mtime_ms: 0, iteration: 3, seq: 9 };
    await using peer = await ScriptedPeer.start(
      json(shape),
      (_, response) => {
        response.writeHead(200, { "content-length": "10" });
        response.write("01234", () => setTimeout(() => response.destroy(), 20));
      },
      ({ headers }, response) => {
        response.writeHead(206, { "content-length": "5", "content-range": "bytes 5-9/10" });
        response.end(headers.range === "bytes=5-9" ? "56789" : "?????");
      },
    );
    const file = await peer.client().workspace("w").file("a");
    let text = "";
    for await (const piece of file.pieces()) text += new TextDecoder().decode(piece);
    expect(text).toBe("0123456789");
    expect(peer.requests.at(-1)?.url).toBe("/v1/workspaces/w/files/a/at/3?as=iteration");
  });

  it("with the whole content is cut to the requested range, if the server ignores ranges", async () => {
    const shape = { path: "a", kind: "file", size: 10, hash: "", permissions: 420, mtime_ms: 0, iteration: 3, seq: 9 };
    await using peer = await ScriptedPeer.start(json(shape), (_, response) => void response.end("0123456789"));
    const file = await peer.client().workspace("w").file("a");
    let text = "";
    for await (const piece of file.pieces({ start: 2, end: 5 })) text += new TextDecoder().decode(piece);
    expect(text).toBe("234");
  });

  it.each([
    [401, "UNAUTHENTICATED"],
    [403, "FORBIDDEN"],
    [404, "NOT_FOUND"],
    [418, "USAGE"],
    [500, "IO"],
    [502, "UNAVAILABLE"],
  ])("with the status %d and without a problem is %s", async (status, code) => {
    await using peer = await ScriptedPeer.start((_, response) => {
      response.writeHead(status, { "content-type": "text/html" });
      response.end("<h1>no</h1>");
    });
    await expect(peer.client().workspace("w").head()).rejects.toMatchObject({ code });
  });

  it("with an HTML page of somebody else is UNAVAILABLE", async () => {
    await using peer = await ScriptedPeer.start(
      (_, response) => void response.end("<html>Log in to this network</html>"),
    );
    await expect(peer.client().workspace("w").head()).rejects.toMatchObject({ code: "UNAVAILABLE" });
    await expect(peer.client().readFile("w", "a")).rejects.toMatchObject({ code: "UNAVAILABLE" });
  });

  it("that redirects is not followed, because the token is for this server only", async () => {
    await using other = await ScriptedPeer.start(json(head));
    await using peer = await ScriptedPeer.start((_, response) => {
      response.writeHead(302, { location: `${other.url}/v1/workspaces/w/head` });
      response.end();
    });
    await expect(peer.client().workspace("w").head()).rejects.toMatchObject({ code: "UNAVAILABLE" });
    expect(other.requests).toEqual([]);
  });
});

describe("an address", () => {
  it("at which no server answers is UNAVAILABLE", async () => {
    const gone = createServer().listen(0, "127.0.0.1");
    await new Promise((done) => gone.once("listening", done));
    const { port } = gone.address() as AddressInfo;
    await new Promise((done) => gone.close(done));
    const retry = { tries: 2, firstWait: 1, longestWait: 1 };
    const client = createClient({ url: `http://127.0.0.1:${port}`, retry });
    await expect(client.workspace("w").head()).rejects.toMatchObject({ code: "UNAVAILABLE" });
    const local = createNodeClient({ url: "unix:/nowhere/at.sock", retry });
    await expect(local.me()).rejects.toMatchObject({
      code: "UNAVAILABLE",
      message: expect.stringContaining("/nowhere"),
    });
  });

  it.each(["localhost:1", "ftp://x", "http://u:p@x", "http://x?token=a", "unix:relative", ""])(
    "like %j is refused",
    (url) => {
      expect(() => createNodeClient({ url })).toThrow(expect.objectContaining({ code: "USAGE" }));
    },
  );
});

describe("a request", () => {
  it("has the token, role, actor and client in headers, and no token in its URL", async () => {
    await using peer = await ScriptedPeer.start(json({ items: [], next: null }), json({ seq: 1 }));
    const workspace = peer.client().workspace("w").as({ role: "agent", actor: "claude code", client: "cli" });
    await workspace.snapshots();
    await workspace.deleteFile("a b/c", { ifMatch: "ab".repeat(32), actor: "x", requestId: "mine" });
    const [list, deletion] = peer.requests;
    expect(list?.url).toBe("/v1/workspaces/w/snapshots?limit=1000");
    expect(deletion?.url).toBe("/v1/workspaces/w/files/a%20b/c?actor=x");
    expect(deletion?.headers).toMatchObject({
      authorization: "Bearer chr_secret",
      "chronicle-actor": "claude code",
      "chronicle-client": "cli",
      "chronicle-role": "agent",
      "idempotency-key": "mine",
      "if-match": `"${"ab".repeat(32)}"`,
    });
  });

  it("is not sent if the name of the actor cannot be in a header", async () => {
    await using peer = await ScriptedPeer.start(json(head));
    const workspace = peer.client().workspace("w").as({ actor: "line\nbreak" });
    await expect(workspace.head()).rejects.toMatchObject({ code: "USAGE" });
    expect(peer.requests).toEqual([]);
  });
});
