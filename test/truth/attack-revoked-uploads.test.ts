import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { Serving } from "../server/serving.ts";

const BODY = `{"id": "late", "actor": "agent"}`;

/** Begins a request: the server has its head and a part of its body. `rest` sends the rest of the body. */
async function begun(
  serving: Serving,
  { method, path, token, body }: { method: string; path: string; token: string; body: string },
): Promise<{ readonly rest: () => Promise<string> } & Disposable> {
  const socket: Socket = connect(serving.port, "127.0.0.1");
  let heard = "";
  socket.setEncoding("utf8").on("data", (piece: string) => (heard += piece));
  const head = [
    `${method} ${path} HTTP/1.1`,
    `Host: 127.0.0.1:${serving.port}`,
    `Authorization: Bearer ${token}`,
    "Content-Type: application/json",
    `Content-Length: ${body.length}`,
    "Connection: close",
    "Expect: 100-continue",
  ];
  socket.write(`${head.join("\r\n")}\r\n\r\n`);
  while (!heard.includes("100 Continue")) await once(socket, "data");
  socket.write(body.slice(0, 10));
  // The server authorises requests in their order. This later one was authorised, so the first one was, too.
  expect((await serving.ask("/v1/me", { token })).status).toBe(200);
  return {
    rest: async () => {
      const closed = once(socket, "close");
      socket.write(body.slice(10));
      await closed;
      return heard.replace(/^HTTP\/1\.1 100 Continue\r\n\r\n/, "");
    },
    [Symbol.dispose]: () => void socket.destroy(),
  };
}

describe("Truth: a request whose token is revoked before its body ends", { timeout: 120_000 }, () => {
  it("is refused if it is an upload, and nothing is written", async () => {
    await using serving = await Serving.start({ folder: true });
    const token = serving.token("agent");
    const [{ id } = { id: "" }] = await serving.store.workspaces();
    const path = `/v1/workspaces/${id}/files/slow.txt`;
    using first = await begun(serving, { method: "PUT", path, token, body: "x".repeat(40) });
    serving.revoke("t1");
    const answer = await first.rest();
    expect(answer).toMatch(/^HTTP\/1\.1 401 /);
    expect(answer.toLowerCase()).toContain("www-authenticate: bearer");
    expect(answer).toContain("this token is not valid any more");
    expect(existsSync(join(serving.base, "project", "slow.txt"))).toBe(false);
    expect((await serving.ask(path)).status).toBe(404);
    // An upload whose token is still valid succeeds.
    const other = serving.token("agent");
    using second = await begun(serving, { method: "PUT", path, token: other, body: "y".repeat(40) });
    serving.token("reader");
    expect(await second.rest()).toMatch(/^HTTP\/1\.1 20\d /);
    expect(readFileSync(join(serving.base, "project", "slow.txt"), "utf8")).toBe("y".repeat(40));
  });

  it("is refused if it is a request of JSON, and changes nothing", async () => {
    await using serving = await Serving.start({ folder: true });
    const token = serving.token("agent");
    const [{ id } = { id: "" }] = await serving.store.workspaces();
    const sessions = `/v1/workspaces/${id}/sessions`;
    using first = await begun(serving, { method: "POST", path: sessions, token, body: BODY });
    serving.revoke("t1");
    expect(await first.rest()).toMatch(/^HTTP\/1\.1 401 /);
    expect((await serving.ask(`${sessions}/late`)).status).toBe(404);
    using second = await begun(serving, { method: "POST", path: sessions, token: serving.token("agent"), body: BODY });
    expect(await second.rest()).toMatch(/^HTTP\/1\.1 201 /);
  });

  it("is refused if the token only loses rights", async () => {
    await using serving = await Serving.start({ folder: true });
    const token = serving.token("agent");
    const [{ id } = { id: "" }] = await serving.store.workspaces();
    const path = `/v1/workspaces/${id}/files/slow.txt`;
    using first = await begun(serving, { method: "PUT", path, token, body: "x".repeat(40) });
    serving.change("t1", { role: "reader" });
    expect(await first.rest()).toMatch(/^HTTP\/1\.1 401 /);
    expect((await serving.ask(path)).status).toBe(404);
  });
});
