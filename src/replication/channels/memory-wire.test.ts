import { describe, expect, it } from "vitest";
import { sha256 } from "../../core/values/hash.ts";
import { channelSuite } from "../../testing/channel-suite.ts";
import { linkWeather } from "../../testing/link-weather.ts";
import type { Channel } from "../channel.ts";
import type { Message } from "../protocol/messages.ts";
import { memoryChannels, memoryWires, type LinkFrame } from "./memory-wire.ts";

channelSuite("channels in memory", () => memoryWires());

/** A clock that advances only in `runAll`. */
class VirtualClock {
  readonly #due: { readonly at: number; readonly order: number; readonly run: () => void }[] = [];
  #now = 0;
  #order = 0;

  readonly later = (afterMs: number, run: () => void): void => {
    this.#due.push({ at: this.#now + afterMs, order: this.#order++, run });
  };

  /** Runs all functions that are due, in the order of time, until none is left. A function may add further ones. */
  async runAll(): Promise<void> {
    for (;;) {
      await new Promise((resolve) => setImmediate(resolve));
      this.#due.sort((a, b) => a.at - b.at || a.order - b.order);
      const next = this.#due.shift();
      if (next === undefined) return;
      this.#now = next.at;
      next.run();
    }
  }
}

const heartbeat = (agent_sequence: number): Message => ({ type: "Heartbeat", agent_sequence, agent_iteration: 0 });

function listen(channel: Channel): Message[] {
  const got: Message[] = [];
  const run = async (): Promise<void> => {
    for await (const message of channel.receive()) got.push(message);
  };
  // A test that expects an error looks at `ended`.
  void run().catch(() => undefined);
  return got;
}

const numbersOf = (messages: readonly Message[]) =>
  messages.map((one) => (one.type === "Heartbeat" ? one.agent_sequence : -1));

async function sendAll(seed: number, weather: Omit<Parameters<typeof linkWeather>[0], "seed">): Promise<number[]> {
  const clock = new VirtualClock();
  const { a, b } = memoryChannels({
    deliver: linkWeather({ seed, ...weather }),
    later: clock.later,
    isReliable: false,
  });
  const got = listen(b);
  for (let i = 0; i < 200; i += 1) await a.send(heartbeat(i));
  await clock.runAll();
  return numbersOf(got);
}

describe("a simulated network", () => {
  const sent = Array.from({ length: 200 }, (_, i) => i);

  it("loses, repeats and delays frames as configured, and in the same way for the same seed", async () => {
    expect(await sendAll(1, {})).toEqual(sent);
    const lossy = await sendAll(1, { loss: 0.2 });
    expect(lossy.length).toBeGreaterThan(120);
    expect(lossy.length).toBeLessThan(190);
    expect(await sendAll(1, { loss: 0.2 })).toEqual(lossy);
    expect(await sendAll(2, { loss: 0.2 })).not.toEqual(lossy);
    expect((await sendAll(1, { duplication: 0.2 })).length).toBeGreaterThan(210);
    const late = await sendAll(1, { delayMs: 50 });
    expect(late).not.toEqual(sent);
    expect(late.toSorted((x, y) => x - y)).toEqual(sent);
  });

  it("cuts one direction only", async () => {
    const clock = new VirtualClock();
    let isCut = true;
    const isPartitioned = (from: LinkFrame["from"]): boolean => isCut && from === "a";
    const { a, b } = memoryChannels({
      deliver: linkWeather({ seed: 1, isPartitioned }),
      later: clock.later,
      isReliable: false,
    });
    const [atA, atB] = [listen(a), listen(b)];
    await a.send(heartbeat(1));
    await b.send(heartbeat(2));
    await clock.runAll();
    expect([numbersOf(atA), numbersOf(atB)]).toEqual([[2], []]);
    isCut = false;
    await a.send(heartbeat(3));
    await clock.runAll();
    expect(numbersOf(atB)).toEqual([3]);
  });

  it.each([1, 2, 3, 4, 5, 6, 7, 8])(
    "seed %i: credit is granted again, although frames and grants are lost and repeated",
    async (seed) => {
      const clock = new VirtualClock();
      const deliver = linkWeather({ seed, loss: 0.15, duplication: 0.15, delayMs: 20 });
      const { a, b } = memoryChannels({ deliver, later: clock.later, isReliable: false, windowBytes: 256 * 1024 });
      const got = listen(b);
      const pieces = Array.from({ length: 60 }, (_, offset) => {
        return a.send({
          type: "ContentFetchResponse",
          content_hash: sha256(""),
          content: Buffer.alloc(100_000),
          size: 10 ** 6,
          offset,
        });
      });
      let isDone = false;
      void Promise.all(pieces).then(() => (isDone = true));
      // Heartbeats reveal the losses.
      for (let beat = 0; beat < 200 && !isDone; beat += 1) {
        await a.send(heartbeat(beat));
        await clock.runAll();
      }
      expect(isDone).toBe(true);
      expect(new Set(got.filter(({ type }) => type === "ContentFetchResponse")).size).toBeGreaterThan(30);
    },
  );

  it("a damaged frame is never taken for a message", async () => {
    for (let seed = 1; seed <= 20; seed += 1) {
      const clock = new VirtualClock();
      const { a, b } = memoryChannels({ deliver: linkWeather({ seed, corruption: 1 }), later: clock.later });
      const got = listen(b);
      await a.send(heartbeat(seed));
      await clock.runAll();
      // The channel may still be open. If the damage has made a length larger, the channel awaits more bytes until a
      // timeout.
      expect(got).toEqual([]);
    }
  });

  it("a reliable channel ends if a frame is lost, repeated or late", async () => {
    const content = {
      type: "ContentFetchResponse",
      content_hash: sha256(""),
      content: Buffer.alloc(9),
      size: 9,
      offset: 0,
    } as const;
    for (const fate of [[], [{ afterMs: 0 }, { afterMs: 0 }], [{ afterMs: 50 }]]) {
      const clock = new VirtualClock();
      const deliver = ({ index }: LinkFrame) => (index === 1 ? fate : [{ afterMs: 0 }]);
      const { a, b } = memoryChannels({ deliver, later: clock.later });
      listen(b);
      for (let i = 0; i < 4; i += 1) await a.send(content);
      await clock.runAll();
      expect(await b.ended).toMatchObject({ error: { code: "INTEGRITY_VIOLATION" } });
    }
  });
});
