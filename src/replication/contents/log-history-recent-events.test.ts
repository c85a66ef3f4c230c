import { describe, expect, it } from "vitest";
import { EMPTY_HEAD, type SealedEvent } from "../../core/values/event.ts";
import { nextEvents } from "../../testing/event-log-suite.ts";
import { RecentEvents } from "./log-history.ts";

const EVENTS = nextEvents(EMPTY_HEAD, 3_000);
const at = (seq: number) => EVENTS[seq - 1] ?? EMPTY_HEAD;
const seqs = (events: readonly SealedEvent[]) => events.map(({ seq }) => seq);

describe("RecentEvents", () => {
  it("gives the events after an event, page by page", () => {
    const recent = new RecentEvents();
    expect(recent.after(EMPTY_HEAD, 1_000)).toEqual([]);
    recent.add(EVENTS.slice(0, 2));
    recent.add(EVENTS.slice(2, 20));
    expect(recent.head).toEqual({ seq: 20, hash: at(20).hash });
    expect(seqs(recent.after(EMPTY_HEAD, 10 ** 6))).toEqual(seqs(EVENTS.slice(0, 20)));
    expect(seqs(recent.after(at(17), 10 ** 6))).toEqual([18, 19, 20]);
    expect(seqs(recent.after(at(17), 1))).toEqual([18]);
    expect(recent.after(at(20), 1_000)).toEqual([]);
    expect(recent.after(at(21), 1_000)).toEqual([]);
  });

  it("gives nothing after an event with another hash than its own", () => {
    const recent = new RecentEvents();
    recent.add(EVENTS.slice(0, 20));
    expect(recent.after({ seq: 10, hash: at(11).hash }, 1_000)).toEqual([]);
  });

  it("keeps only events without a gap, because other processes write, too", () => {
    const recent = new RecentEvents();
    recent.add(EVENTS.slice(0, 10));
    recent.add(EVENTS.slice(12, 14));
    expect(recent.after(at(5), 1_000)).toEqual([]);
    expect(recent.after(at(10), 1_000)).toEqual([]);
    expect(seqs(recent.after(at(12), 10 ** 6))).toEqual([13, 14]);
    // These events come late, and are ignored.
    recent.add(EVENTS.slice(10, 12));
    expect(recent.head.seq).toBe(14);
    expect(seqs(recent.after(at(12), 10 ** 6))).toEqual([13, 14]);
  });

  it("holds at most 256 KiB of lines, and always the last event", () => {
    const recent = new RecentEvents();
    const length = (events: readonly SealedEvent[]) => events.reduce((sum, { line }) => sum + line.length, 0);
    expect(length(EVENTS)).toBeGreaterThan(512 * 1024);
    let most = 0;
    for (let from = 0; from < EVENTS.length; from += 7) {
      recent.add(EVENTS.slice(from, from + 7));
      const last = Math.min(EVENTS.length, from + 7);
      expect(seqs(recent.after(at(last - 1), 1))).toEqual([last]);
      const first = EVENTS.findIndex((event) => recent.after(event, 1).length > 0);
      if (first >= 0) most = Math.max(most, length(EVENTS.slice(first + 1, last)));
    }
    expect(most).toBeGreaterThan(100 * 1024);
    expect(most).toBeLessThanOrEqual(256 * 1024);
    recent.add(EVENTS);
    expect(recent.after(at(1_000), 1)).toEqual([]);
  });
});
