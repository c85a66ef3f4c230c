import { randomUUID } from "node:crypto";
import { writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import type { Channel } from "../../src/replication/channel.ts";
import type { Message, MessageOf } from "../../src/replication/protocol/messages.ts";
import { dialOrigin } from "../../src/replication/replica/dial-origin.ts";
import { sha256 } from "../../src/core/values/hash.ts";
import { EMPTY_HEAD } from "../../src/core/values/event.ts";
import { OPERATOR, Serving } from "./serving.ts";

/** Which clients may replicate, and as which replica: on the owner's socket, and by WebSocket on a port. */

const NEVER = new AbortController().signal;

/** The first messages of a conversation, as a replica that holds nothing. */
class Talk implements AsyncDisposable {
  readonly channel: Channel;
  readonly #incoming: AsyncIterator<Message>;

  constructor(channel: Channel) {
    this.channel = channel;
    this.#incoming = channel.receive()[Symbol.asyncIterator]();
  }

  static async onSocket(serving: Serving): Promise<Talk> {
    return new Talk(await dialOrigin({ url: `unix:${serving.run.socket}` }, NEVER));
  }

  static async onPort(serving: Serving, token: string, workspace?: string): Promise<Talk> {
    const named = workspace === undefined ? {} : { workspace };
    return new Talk(await dialOrigin({ url: `http://127.0.0.1:${serving.port}`, token, ...named }, NEVER));
  }

  async hello(workspace?: string, replica: string = randomUUID()): Promise<Message> {
    await this.channel.send({
      ...{ type: "Hello", versions: [2], capabilities: ["witness"], sandbox_id: replica, settled_local_seq: 0 },
      ...(workspace === undefined ? {} : { workspace }),
      head: { sequence: 0, hash: EMPTY_HEAD.hash },
    });
    return this.next();
  }

  async next(): Promise<Message> {
    const { done, value } = await this.#incoming.next();
    if (done === true) throw new Error("the conversation has ended");
    return value;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.channel.close();
    await this.channel.ended;
  }
}

let serving: Serving;
let first: string;
let second: string;

beforeAll(async () => {
  serving = await Serving.start({ replication: true, folder: true, limits: { heartbeatMs: 50, replicas: 3 } });
  first = await serving.create("first");
  second = await serving.create("second");
  await serving.put(second, "notes.txt", "one");
});
afterAll(() => serving[Symbol.asyncDispose]());

describe("the owner's socket", () => {
  it("serves HTTP and replicas, told apart by their first bytes", async () => {
    await using talk = await Talk.onSocket(serving);
    expect(await talk.hello(second)).toMatchObject({ type: "HelloAck", workspace: second });
    expect((await serving.ask("/v1/me", { bySocket: true })).status).toBe(200);
    expect([await talk.next(), await talk.next()].map(({ type }) => type)).toEqual(["HeadWitness", "Events"]);
  });

  it("knows them by their first three bytes, however few come at once", async () => {
    const socket = connect(serving.run.socket);
    socket.write("C");
    await sleep(20);
    socket.write("H");
    await sleep(20);
    // No HTTP method begins so. The bytes that follow are no frame, and end the conversation.
    socket.write(`R${"x".repeat(60)}`);
    const answer = Buffer.concat(await socket.toArray());
    expect(answer.subarray(0, 3).toString()).toBe("CHR");
    expect(answer.toString()).toContain('"fatal":true');
    const asking = connect(serving.run.socket);
    asking.write("GE");
    await sleep(20);
    asking.write("T /healthz HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
    const reply = await new Promise<Buffer>((resolve) => asking.once("data", resolve));
    expect(reply.toString()).toMatch(/^HTTP\/1.1 200/);
    asking.destroy();
  });

  it("serves a workspace by its name, and without a name that of the server's folder", async () => {
    await using named = await Talk.onSocket(serving);
    expect(await named.hello("first")).toMatchObject({ workspace: first });
    const own = (await serving.ask("/v1/me")).json<{ default_workspace: string }>().default_workspace;
    await using unnamed = await Talk.onSocket(serving);
    expect(await unnamed.hello()).toMatchObject({ workspace: own });
    await using wrong = await Talk.onSocket(serving);
    await expect(wrong.hello("third")).rejects.toMatchObject({ code: "NOT_FOUND" });
  });
});

describe("a port", () => {
  it("lets in a client with a token, and refuses others with a status before the upgrade", async () => {
    await using talk = await Talk.onPort(serving, OPERATOR, "second");
    expect(await talk.hello()).toMatchObject({ type: "HelloAck", workspace: second });
    await expect(Talk.onPort(serving, "wrong")).rejects.toMatchObject({ code: "UNAUTHENTICATED" });
    const upgrade = {
      connection: "Upgrade",
      upgrade: "websocket",
      "sec-websocket-version": "13",
      "sec-websocket-key": "x",
    };
    const asked = (path: string, headers: Record<string, string> = {}, token: string | null = OPERATOR) =>
      serving.ask(path, { headers: { ...upgrade, ...headers }, token });
    expect((await asked("/v1/replicate", {}, null)).status).toBe(401);
    expect((await asked(`/v1/replicate?token=${OPERATOR}`, {}, null)).status).toBe(400);
    expect((await asked("/v1/replicate", { origin: "https://elsewhere.example" })).status).toBe(403);
    expect((await asked("/v1/replicate", { host: "elsewhere.example" })).status).toBe(421);
    expect((await asked("/v1/replicate?other=1")).status).toBe(400);
  });

  it("answers a token for certain workspaces about any other as if it did not exist", async () => {
    const token = serving.token("agent", [second]);
    await using talk = await Talk.onPort(serving, token);
    // It is the only workspace of this token.
    expect(await talk.hello()).toMatchObject({ workspace: second });
    const said = async (workspace: string) => {
      await using other = await Talk.onPort(serving, token, workspace);
      return await other.hello().catch((error: Error) => error.message.replaceAll(workspace, "X"));
    };
    const foreign = await said(first);
    expect(foreign).toBe(await said("nowhere"));
    expect(foreign).toContain("there is no workspace X");
  });

  it("answers AMBIGUOUS if several workspaces may be meant", async () => {
    await using talk = await Talk.onPort(serving, serving.token("reader", [first, second]));
    await expect(talk.hello()).rejects.toMatchObject({ code: "AMBIGUOUS" });
  });

  it("ends a connection when its token is revoked", async () => {
    const token = serving.token("reader", [first]);
    await using talk = await Talk.onPort(serving, token);
    await talk.hello();
    serving.revoke(serving.idOf(token));
    expect(await talk.channel.ended).toMatchObject({ by: "transport" });
  });

  it("ends the connection of a revoked token, even if the server's heartbeats are rare", async () => {
    await using served = await Serving.start({ replication: true, limits: { heartbeatMs: 60_000 } });
    const token = served.token("agent", [await served.create("mine")]);
    await using talk = await Talk.onPort(served, token);
    await talk.hello();
    served.revoke(served.idOf(token));
    expect(await talk.channel.ended).toMatchObject({ by: "transport" });
  });

  it("limits the number of replicas of one token, and counts them", async () => {
    const token = serving.token("reader", [first]);
    const talks: Talk[] = [];
    for (let i = 0; i < 3; i += 1) talks.push(await Talk.onPort(serving, token));
    await expect(Talk.onPort(serving, token)).rejects.toMatchObject({ code: "RATE_LIMITED" });
    for (const talk of talks) await talk.hello();
    expect((await serving.ask("/metrics")).text).toContain("\nchronicle_replicas 3\n");
    for (const talk of talks) await talk[Symbol.asyncDispose]();
    // A connection counts until the server has seen its end.
    const again = await vi.waitFor(() => Talk.onPort(serving, token));
    expect(await again.hello()).toMatchObject({ type: "HelloAck" });
    await again[Symbol.asyncDispose]();
  });
});

describe("a replica", () => {
  const comes = async (token: string | undefined, replica: string) => {
    await using talk = await (token === undefined ? Talk.onSocket(serving) : Talk.onPort(serving, token));
    return (await talk.hello(first, replica)).type;
  };
  const refused = expect.objectContaining({
    code: "FORBIDDEN",
    message: expect.stringContaining("token create --replica"),
  });

  it("belongs to the token that comes with it first, and only operators can use it, too", async () => {
    const [own, other] = [serving.token("agent"), serving.token("agent")];
    expect(await comes(own, "r-1")).toBe("HelloAck");
    await expect(comes(other, "r-1")).rejects.toEqual(refused);
    await expect(comes(serving.token("reader"), "r-1")).rejects.toEqual(refused);
    expect(await comes(other, "r-2")).toBe("HelloAck");
    for (const operator of [OPERATOR, undefined, serving.token("operator")]) {
      expect(await comes(operator, "r-1")).toBe("HelloAck");
    }
    // The replica still belongs to the first token, although operators came with it.
    await expect(comes(other, "r-1")).rejects.toEqual(refused);
    expect(await comes(own, "r-1")).toBe("HelloAck");
    // A replica that came with an operator first belongs to operators.
    expect(await comes(undefined, "r-3")).toBe("HelloAck");
    await expect(comes(own, "r-3")).rejects.toEqual(refused);
  });

  it("goes over to a token that was made for it, for good", async () => {
    const own = serving.token("agent");
    expect(await comes(own, "r-4")).toBe("HelloAck");
    const next = serving.tokenFor("r-4");
    expect(await comes(next, "r-4")).toBe("HelloAck");
    await expect(comes(own, "r-4")).rejects.toEqual(refused);
    await expect(comes(serving.tokenFor("r-5"), "r-4")).rejects.toEqual(refused);
    expect(await comes(next, "r-4")).toBe("HelloAck");
  });

  it("that is refused writes nothing, and settles nothing for the one that owns the name", async () => {
    const own = serving.token("agent");
    expect(await comes(own, "r-6")).toBe("HelloAck");
    await using talk = await Talk.onPort(serving, serving.token("agent"));
    const hello = talk.hello(first, "r-6");
    const entry: MessageOf<"WriteBack">["entries"][number] = {
      ...{
        local_seq: 1,
        filepath: "mine.txt",
        kind: "file",
        permissions: 0o644,
        size: 0,
        mtime_ms: 0,
        is_deletion: false,
      },
      ...{ content_hash: sha256(""), inline_content: new Uint8Array(), master_rowid_seen: 0, actor: "other" },
    };
    const sent = talk.channel.send({ type: "WriteBack", sandbox_id: "r-6", entries: [entry] });
    await Promise.allSettled([sent]);
    await expect(hello).rejects.toEqual(refused);
    await using again = await Talk.onPort(serving, own);
    expect(await again.hello(first, "r-6")).toMatchObject({ type: "HelloAck", settled_local_seq: 0 });
    expect((await serving.ask(`/v1/workspaces/${first}/files/mine.txt`)).status).toBe(404);
  });
});

describe("a server", () => {
  it("without --replication serves no replicas", async () => {
    await using plain = await Serving.start();
    await expect(Talk.onPort(plain, OPERATOR)).rejects.toMatchObject({ code: "NOT_FOUND" });
    await using talk = await Talk.onSocket(plain);
    await expect(talk.hello()).rejects.toMatchObject({ code: "UNAVAILABLE" });
  });

  it("with a damaged log names no path to a replica, and has the details in its diagnostics", async () => {
    await using failing = await Serving.start({ replication: true });
    const id = await failing.create("only");
    writeFileSync(join(failing.base, "store", "workspaces", id, "replicas"), "no list of replicas\n");
    for (const token of [failing.token("reader"), failing.token("agent"), OPERATOR]) {
      await using talk = await Talk.onPort(failing, token, "only");
      const refused = await talk.hello().catch((error: unknown) => error as Error);
      expect(refused).toMatchObject({ code: "LOG_DAMAGED", hint: expect.not.stringContaining(failing.base) as string });
      const [, reported = "none"] =
        /a log in the store is damaged.*say more under (\S+)$/.exec(String(Object(refused)["message"])) ?? [];
      expect(failing.diagnostics()).toMatch(new RegExp(`${reported} .*${id}/replicas is not a list of replicas`));
    }
  });

  it("that ends tells its replicas, and does not wait for them", async () => {
    const leaving = await Serving.start({ replication: true });
    await leaving.create("only");
    await using near = await Talk.onSocket(leaving);
    await near.hello();
    await using far = await Talk.onPort(leaving, OPERATOR);
    await far.hello();
    const began = performance.now();
    leaving.server.leave("signal");
    expect(await near.channel.ended).toMatchObject({ by: "peer", error: { code: "UNAVAILABLE" } });
    expect(await far.channel.ended).toMatchObject({ by: "peer", error: { code: "UNAVAILABLE" } });
    await leaving[Symbol.asyncDispose]();
    expect(performance.now() - began).toBeLessThan(3_000);
  });
});
