import { writeFileSync } from "node:fs";
import { request } from "node:http";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openStore } from "../../src/open.ts";
import { OPERATOR, Serving } from "./serving.ts";
import { OwnTime } from "../helpers/own-time.ts";

/** Server-sent events: what a browser's EventSource sees. */

let serving: Serving;

beforeAll(async () => {
  serving = await Serving.start({ folder: true, limits: { heartbeatMs: 100 } });
});
afterAll(() => serving[Symbol.asyncDispose]());

interface Told {
  readonly id: number;
  readonly event: { readonly seq: number; readonly record_id: string };
}

/** A stream that is open. */
class Stream {
  readonly told: Told[] = [];
  first = -1;
  #text = "";
  #end: () => void = () => undefined;
  #waiting: (() => void)[] = [];

  /** Resolves when the server has ended it. */
  readonly ended = new Promise<void>((resolve) => (this.#end = resolve));

  static open(path: string, headers: Readonly<Record<string, string>> = {}): Promise<Stream> {
    const stream = new Stream();
    return new Promise((resolve, reject) => {
      const all = { authorization: `Bearer ${OPERATOR}`, ...headers };
      const asked = request({ host: "127.0.0.1", port: serving.port, path, headers: all, agent: false });
      asked.on("error", reject);
      asked.on("response", (response) => {
        if (response.statusCode !== 200) return reject(new Error(String(response.statusCode)));
        response.setEncoding("utf8");
        response.on("error", () => undefined);
        response.on("close", () => stream.#end());
        response.on("data", (text: string) => {
          stream.#take(text);
          if (stream.first >= 0) resolve(stream);
        });
      });
      asked.end();
      stream.close = () => void asked.destroy();
    });
  }

  close: () => void = () => undefined;

  async until(wanted: (told: Told) => boolean): Promise<Told> {
    for (;;) {
      const found = this.told.find(wanted);
      if (found !== undefined) return found;
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
  }

  #take(text: string): void {
    this.#text += text;
    const blocks = this.#text.split("\n\n");
    this.#text = blocks.pop() ?? "";
    for (const block of blocks) {
      const id = Number(/^id: (\d+)$/m.exec(block)?.[1] ?? -1);
      const data = /^data: (.*)$/m.exec(block)?.[1];
      if (data !== undefined) this.told.push({ id, event: JSON.parse(data) as Told["event"] });
      else if (id >= 0) this.first = id;
    }
    for (const wake of this.#waiting.splice(0)) wake();
  }
}

describe("a stream", () => {
  it("resumes by Last-Event-ID, without gap or repeat", async () => {
    const id = await serving.create("resumed");
    const first = await Stream.open(`/v1/workspaces/${id}/events`);
    await serving.put(id, "a", "1");
    const { id: last } = await first.until((told) => told.event.record_id === "file:a");
    first.close();
    await serving.put(id, "b", "1");
    const second = await Stream.open(`/v1/workspaces/${id}/events`, { "last-event-id": String(last) });
    expect(second.first).toBe(last);
    await serving.put(id, "c", "1");
    await second.until((told) => told.event.record_id === "file:c");
    const ids = [...first.told, ...second.told].map((told) => told.id).filter((seq) => seq !== 0);
    const unique = [...new Set(ids)];
    expect(unique).toEqual(Array.from({ length: unique.length }, (_, i) => (ids[0] ?? 0) + i));
    expect(second.told[0]?.id).toBe(last + 1);
    second.close();
  });

  it("is refused with a status if it cannot begin at the event", async () => {
    const id = await serving.create("compacted");
    await serving.put(id, "a", "1");
    await expect(Stream.open(`/v1/workspaces/${id}/events?after=999`)).rejects.toThrow("404");
    await serving.send(`/v1/workspaces/${id}/compact`, { drop_archive: true });
    const { status, text } = await serving.ask(`/v1/workspaces/${id}/events?after=0`);
    expect([status, (JSON.parse(text) as { code: string }).code]).toEqual([410, "PRUNED"]);
    const { data } = JSON.parse(text) as { data: { after: number } };
    const stream = await Stream.open(`/v1/workspaces/${id}/events?after=${data.after}`);
    expect((await stream.until(() => true)).id).toBe(data.after + 1);
    stream.close();
  });

  it("ends when its token is revoked", async () => {
    const id = await serving.create("revoked");
    const headers = { authorization: `Bearer ${serving.token("reader")}` };
    const stream = await Stream.open(`/v1/workspaces/${id}/events`, headers);
    await serving.put(id, "a", "1");
    await stream.until(({ event }) => event.record_id === "file:a");
    serving.revoke("t1");
    await stream.ended;
    await expect(Stream.open(`/v1/workspaces/${id}/events`, headers)).rejects.toThrow("401");
  });

  it("has the events that another process records", async () => {
    const id = await serving.create("others");
    const stream = await Stream.open(`/v1/workspaces/${id}/events`);
    const store = await openStore({ home: join(serving.base, "store"), configFolder: join(serving.base, "config") });
    const other = await store.openById(id);
    using own = new OwnTime();
    await other.putFile("theirs", Buffer.from("x"));
    await stream.until(({ event }) => event.record_id === "file:theirs");
    expect(own.ms).toBeLessThan(1_000);
    await other.close();
    await store.close();
    stream.close();
  });

  it("has the edits that somebody makes by hand in the folder that the server was started in", async () => {
    const { default_workspace: id } = (await serving.ask("/v1/me")).json<{ default_workspace: string }>();
    const stream = await Stream.open(`/v1/workspaces/${id}/events`);
    const waits: number[] = [];
    for (let i = 0; i < 5; i += 1) {
      using own = new OwnTime();
      writeFileSync(join(serving.base, "project", `by-hand-${i}`), "x");
      await stream.until((told) => told.event.record_id === `file:by-hand-${i}`);
      waits.push(own.ms);
    }
    expect(waits.toSorted((a, b) => a - b)[2]).toBeLessThan(200);
    stream.close();
  });

  it("has such edits after another process changed the globs, and does not prevent the archiving of the folder", async () => {
    const me = async () => (await serving.ask("/v1/me")).json<{ default_workspace: string | null }>().default_workspace;
    const id = (await me()) ?? "";
    const store = await openStore({ home: join(serving.base, "store"), configFolder: join(serving.base, "config") });
    const other = await store.openById(id);
    await other.configure({ excludeGlobs: ["*.log"] });
    // A request that comes after a second makes the server open the workspace anew.
    await new Promise((done) => setTimeout(done, 1_100));
    const stream = await Stream.open(`/v1/workspaces/${id}/events`);
    await new Promise((done) => setTimeout(done, 1_100));
    writeFileSync(join(serving.base, "project", "left-out.log"), "x");
    writeFileSync(join(serving.base, "project", "taken.txt"), "x");
    await stream.until((told) => told.event.record_id === "file:taken.txt");
    expect(await other.history("left-out.log").catch((error: { code: string }) => error.code)).toBe("NOT_FOUND");
    stream.close();
    await other.close();
    await store.close();
    expect((await serving.send(`/v1/workspaces/${id}/archive`, {})).status).toBe(200);
    expect(await me()).toBeNull();
  });
});
