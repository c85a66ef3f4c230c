import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import type { Channel, ChannelEnd } from "../../src/replication/channel.ts";
import type { Message } from "../../src/replication/protocol/messages.ts";
import { dialOrigin } from "../../src/replication/replica/dial-origin.ts";
import { replicaHello } from "../../src/replication/replica/replica-hello.ts";
import { put } from "../helpers/put-back-files.ts";
import { ServerProcess } from "../helpers/server-process.ts";

const PATIENCE = { timeout: 60_000, interval: 20 };
const ID = "22222222-2222-4222-8222-222222222222";

function until(holds: () => boolean): Promise<void> {
  return vi.waitFor(() => {
    if (!holds()) throw new Error("it does not come to pass");
  }, PATIENCE);
}

/** The heartbeat without which the connection would be closed after a while. */
const HERE: Message = { type: "SandboxHeartbeat", sandbox_id: ID, up_to_sequence: 0, local_seq: 0, pending: 0 };

/** A replica, as far as its origin can tell. If not `isThere`, it does not answer, though its connection is open. */
class Caller implements AsyncDisposable {
  readonly heard: Message[] = [];
  end: ChannelEnd | undefined;
  readonly #channel: Channel;

  static async meet(origin: ServerProcess, way: string, isThere: boolean): Promise<Caller> {
    const address = way === "socket" ? { url: origin.socketUrl } : { url: origin.url, token: origin.token };
    const caller = new Caller(await dialOrigin(address, new AbortController().signal), isThere);
    await caller.#channel.send(replicaHello({ sandboxId: ID, upstream: { head: { seq: 0, hash: "" } } }));
    return caller;
  }

  /** Connects. Tries again, as every replica does, while the server still opens its workspaces. */
  static first(origin: ServerProcess, way: string, isThere: boolean): Promise<Caller> {
    return vi.waitFor(async () => {
      const caller = await Caller.meet(origin, way, isThere);
      await caller.welcomed();
      return caller;
    }, PATIENCE);
  }

  private constructor(channel: Channel, isThere: boolean) {
    this.#channel = channel;
    void channel.ended.then((end) => (this.end = end));
    void this.#listen(isThere);
  }

  /** Waits until the origin lets the replica in. Throws if the origin does not. */
  async welcomed(): Promise<void> {
    const isAnswered = (): boolean => this.end !== undefined || this.heard.some(({ type }) => type === "HelloAck");
    await until(isAnswered);
    if (this.end !== undefined) throw new Error("it was not let in", { cause: this.end.error });
  }

  /** Asks for what was changed, and waits until the replica hears of the file. */
  async hears(path: string): Promise<void> {
    await this.#channel.send({ type: "BarrierRequest", sequence: 0 });
    const isAbout = (message: Message): boolean => JSON.stringify(message).includes(path);
    await until(() => this.heard.some(isAbout));
  }

  async #listen(isThere: boolean): Promise<void> {
    try {
      for await (const message of this.#channel.receive()) {
        this.heard.push(message);
        if (message.type === "Heartbeat") await this.#channel.send(HERE);
        if (isThere && message.type === "ContentFetchRequest")
          await this.#channel.send({ type: "ContentNotFound", content_hash: message.content_hash });
      }
    } catch {
      // How it ended is known from `end`.
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#channel.close();
    await this.#channel.ended;
  }
}

function diagnosticsOf({ home }: ServerProcess): string {
  const file = join(home, "run", "diagnostics.log");
  return existsSync(file) ? readFileSync(file, "utf8") : "";
}

describe.each(["socket", "WebSocket"])("Truth 25: two connections of one replica (%s)", (way) => {
  it("the second is refused while the first is there, and both sides say so; a later one is served", async () => {
    await using origin = new ServerProcess(["--replication"]);
    put(origin.project, "a.txt", "a\n");
    await origin.start();
    await using first = await Caller.first(origin, way, true);
    await using second = await Caller.meet(origin, way, true);
    await vi.waitFor(() => expect(second.end).toBeDefined(), PATIENCE);
    expect(second.end?.error).toMatchObject({
      code: "ROLLBACK_DETECTED",
      message: expect.stringContaining("another copy of this replica"),
      hint: expect.stringContaining("adopt-as-new"),
    });
    await vi.waitFor(() => expect(diagnosticsOf(origin)).toContain(`replica ${ID} of workspace`), PATIENCE);
    put(origin.project, "b.txt", "b\n");
    await first.hears("b.txt");
    expect(first.end).toBeUndefined();
    await first[Symbol.asyncDispose]();
    await using third = await Caller.meet(origin, way, true);
    await third.welcomed();
    put(origin.project, "c.txt", "c\n");
    await third.hears("c.txt");
    expect(third.end).toBeUndefined();
  }, 180_000);

  it("the second is served at once if the first does not answer any more", async () => {
    await using origin = new ServerProcess(["--replication"]);
    put(origin.project, "a.txt", "a\n");
    await origin.start();
    await using first = await Caller.first(origin, way, false);
    await using second = await Caller.meet(origin, way, true);
    await second.welcomed();
    put(origin.project, "b.txt", "b\n");
    await second.hears("b.txt");
    // The origin has asked the first one, and the second connection still holds.
    expect(first.heard.map(({ type }) => type)).toContain("ContentFetchRequest");
    expect(second.end).toBeUndefined();
  }, 180_000);
});
