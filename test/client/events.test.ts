import type { ServerResponse } from "node:http";
import { describe, expect, it, vi } from "vitest";
import type { EventsOptions } from "../../src/api/file-api.ts";
import { problem, ScriptedPeer } from "./scripted-peer.ts";

function begin(response: ServerResponse, after: number): void {
  response.writeHead(200, { "content-type": "text/event-stream" });
  response.write(`retry: 1000\nid: ${after}\n\n`);
}

const event = (seq: number): string =>
  `id: ${seq}\nevent: message\ndata: ${JSON.stringify({ seq, record_id: `r${seq}` })}\n\n`;

/** Receives `count` events. Returns their seqs. */
async function hear(peer: ScriptedPeer, count: number, options: EventsOptions = {}): Promise<number[]> {
  const heard: number[] = [];
  for await (const { seq } of peer.client().workspace("w").events(options)) {
    heard.push(seq);
    if (heard.length === count) break;
  }
  return heard;
}

describe("events", () => {
  it("continue after the last received one, each once, however the connection ends", async () => {
    await using peer = await ScriptedPeer.start(
      (_, response) => {
        begin(response, 4);
        // The connection ends in the middle of event 7, which is sent again as a whole.
        response.write(`${event(5)}${event(6)}id: 7\nda`, () => setTimeout(() => response.destroy(), 20));
      },
      (_, response) => {
        begin(response, 6);
        response.end(`${event(6)}${event(7)}`);
      },
      problem(503, "UNAVAILABLE"),
      (_, response) => {
        begin(response, 7);
        response.write(`: still here\n\n${event(8)}${event(9)}`);
      },
    );
    expect(await hear(peer, 5)).toEqual([5, 6, 7, 8, 9]);
    expect(peer.requests.map(({ headers }) => headers["last-event-id"])).toEqual([undefined, "6", "7", "7"]);
  });

  it("begin at the first connection's position if it was cut off before the first event", async () => {
    await using peer = await ScriptedPeer.start(
      (_, response) => {
        begin(response, 40);
        setTimeout(() => response.destroy(), 20);
      },
      (_, response) => {
        begin(response, 40);
        response.write(event(41));
      },
    );
    expect(await hear(peer, 1)).toEqual([41]);
    expect(peer.requests.at(-1)?.headers["last-event-id"]).toBe("40");
  });

  it("begin after the requested seq, and may arrive in single bytes", async () => {
    await using peer = await ScriptedPeer.start((_, response) => {
      begin(response, 2);
      const text = Buffer.from(event(3).replace("r3", "r♥3"));
      let at = 0;
      const next = (): void => {
        if (at < text.length) response.write(text.subarray(at, (at += 1)), () => setImmediate(next));
      };
      next();
    });
    expect(await hear(peer, 1, { after: 2, prefix: "file:" })).toEqual([3]);
    expect(peer.requests[0]).toMatchObject({
      url: "/v1/workspaces/w/events?prefix=file%3A",
      headers: { "last-event-id": "2" },
    });
  });

  it("end without an error on an abort or a close, also while waiting", async () => {
    await using peer = await ScriptedPeer.start((_, response) => begin(response, 0));
    const ended = new AbortController();
    setTimeout(() => ended.abort(), 50);
    expect(await hear(peer, 1, { signal: ended.signal })).toEqual([]);
    const workspace = peer.client().workspace("w");
    const hearing = (async () => {
      for await (const { seq } of workspace.events()) throw new Error(`heard ${seq}`);
    })();
    setTimeout(() => void workspace.close(), 50);
    await hearing;
  });

  it("stay connected while the reader takes long over one event", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    try {
      let answered: ServerResponse | undefined;
      await using peer = await ScriptedPeer.start(
        (_, response) => {
          begin(response, 0);
          response.write(event(1));
          answered = response;
        },
        (_, response) => {
          begin(response, 1);
          response.write(event(2));
        },
      );
      const events = peer.client().workspace("w").events()[Symbol.asyncIterator]();
      expect((await events.next()).value).toMatchObject({ seq: 1 });
      vi.advanceTimersByTime(60_000);
      answered?.write(event(2));
      let second: unknown;
      void events.next().then(({ value }) => (second = value));
      for (let turn = 0; turn < 1_000 && second === undefined; turn += 1) {
        await new Promise((resolve) => setImmediate(resolve));
        vi.advanceTimersByTime(40);
      }
      expect(second).toMatchObject({ seq: 2 });
      expect(peer.requests).toHaveLength(1);
      await events.return?.();
    } finally {
      vi.useRealTimers();
    }
  });

  it("throw the error of the server", async () => {
    await using peer = await ScriptedPeer.start(problem(404, "NOT_FOUND"));
    await expect(hear(peer, 1)).rejects.toMatchObject({ code: "NOT_FOUND" });
    await using later = await ScriptedPeer.start(
      (_, response) => {
        begin(response, 0);
        response.end();
      },
      problem(401, "UNAUTHENTICATED"),
    );
    await expect(hear(later, 1)).rejects.toMatchObject({ code: "UNAUTHENTICATED" });
  });
});

describe("the head", () => {
  it("is followed on a new connection when the old one ends, from whatever it is then", async () => {
    const change = (seq: number, records: string[] | null): string =>
      `id: ${seq}\nevent: message\ndata: ${JSON.stringify({ seq, after: seq - 1, records, ticks: null })}\n\n`;
    await using peer = await ScriptedPeer.start(
      (_, response) => {
        begin(response, 4);
        response.write(`${change(4, null)}${change(5, ["file"])}`, () => setTimeout(() => response.destroy(), 20));
      },
      problem(503, "UNAVAILABLE"),
      (_, response) => {
        begin(response, 5);
        response.write(`${change(5, null)}${change(6, ["action"])}`);
      },
    );
    const heard: unknown[] = [];
    for await (const { seq, records } of peer.client().workspace("w").followHead()) {
      heard.push([seq, records]);
      if (seq === 6) break;
    }
    expect(heard).toEqual([
      [4, null],
      [5, ["file"]],
      [5, null],
      [6, ["action"]],
    ]);
    expect(peer.requests.map(({ headers }) => headers["last-event-id"])).toEqual([undefined, undefined, undefined]);
  });
});

describe("the steps of a verification", () => {
  const step = (seq: number, more: object): string =>
    `id: ${seq}\nevent: message\ndata: ${JSON.stringify({ seq, ...more })}\n\n`;
  const progress = { phase: "verify", done: 2, total: 5, unit: "events" } as const;

  it("begin anew after the connection was cut off, and the result is that of the last verification", async () => {
    await using peer = await ScriptedPeer.start(
      (_, response) => {
        begin(response, 0);
        response.write(step(1, { progress }), () => setTimeout(() => response.destroy(), 20));
      },
      (_, response) => {
        begin(response, 0);
        response.end(step(1, { progress }));
      },
      (_, response) => {
        begin(response, 0);
        response.end(step(1, { progress }) + step(2, { result: { ok: true } }));
      },
    );
    const told: unknown[] = [];
    const result = await peer
      .client()
      .workspace("w")
      .verify({ onProgress: (one) => void told.push(one) });
    expect(result).toEqual({ ok: true });
    expect(told).toEqual([progress, progress, progress]);
    expect(peer.requests).toHaveLength(3);
  });

  it("throw the problem with which they end, and ask no more", async () => {
    const data = JSON.stringify({ status: 410, code: "PRUNED", detail: "it is gone", hint: "look elsewhere" });
    await using peer = await ScriptedPeer.start((_, response) => {
      begin(response, 0);
      response.end(`event: problem\ndata: ${data}\n\n`);
    });
    const failed = peer
      .client()
      .workspace("w")
      .verify({ onProgress: () => undefined });
    await expect(failed).rejects.toMatchObject({ code: "PRUNED", message: "it is gone", hint: "look elsewhere" });
    expect(peer.requests).toHaveLength(1);
  });
});
