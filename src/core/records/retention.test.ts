import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { keepsState } from "../tree/kept-states.ts";
import { answerPruning, isCounted, type KeptMoment, type PruneQuestion } from "./retention.ts";

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const START = Date.parse("2030-01-07T00:00:00Z");

function action(n: number, more: Partial<KeptMoment> = {}): KeptMoment {
  return { kind: "action", name: `a${n}`, state: n * 10, ts: START + n * HOUR, ...more };
}

function snapshot(n: number, more: Partial<KeptMoment> = {}): KeptMoment {
  return { kind: "snapshot", name: String(n), state: n * 10, ts: START + n * HOUR, ...more };
}

function ask(moments: readonly KeptMoment[], more: Partial<PruneQuestion> = {}): PruneQuestion {
  const last = moments.at(-1);
  return {
    moments,
    rules: { maxSnapshots: 50, maxAgeMs: 30 * DAY },
    minAgeMs: 0,
    head: { seq: (last?.state ?? 0) + 5, ts: last?.ts ?? START },
    floorSeq: 0,
    ...more,
  };
}

const names = (moments: readonly KeptMoment[]): string[] => moments.map((one) => one.name);

describe("the limits", () => {
  it("keep the last actions, and put the floor below the oldest of them", () => {
    const answer = answerPruning(
      ask(
        [1, 2, 3, 4, 5].map((n) => action(n)),
        { rules: { maxSnapshots: 3, maxAgeMs: 0 } },
      ),
    );
    expect(names(answer.pruned)).toEqual(["a1", "a2"]);
    expect(answer.floorSeq).toBe(30);
    expect(answer.states).toEqual([]);
  });

  it("count actions only, so that a flood of them does not push out a person's snapshot", () => {
    const moments = [snapshot(0, { shield: "baseline" }), snapshot(1), ...[2, 3, 4, 5].map((n) => action(n))];
    const answer = answerPruning(ask(moments, { rules: { maxSnapshots: 2, maxAgeMs: 0 } }));
    expect(names(answer.pruned)).toEqual(["a2", "a3"]);
    expect(answer.states).toEqual([0, 10]);
  });

  it("keep shielded moments even below the floor, and leave half of the count to moments that are not shielded", () => {
    const moments = [1, 2, 3, 4, 5, 6, 7, 8].map((n) => action(n, n <= 5 ? { shield: "first" } : {}));
    const answer = answerPruning(ask(moments, { rules: { maxSnapshots: 4, maxAgeMs: 0 } }));
    expect(names(answer.pruned)).toEqual(["a6"]);
    expect(answer.states).toEqual([10, 20, 30, 40, 50]);
  });

  it("prune moments that are too old, including snapshots, whatever their number", () => {
    const moments = [snapshot(1), action(2), action(3, { ts: START + 40 * DAY })];
    const answer = answerPruning(ask(moments));
    expect(names(answer.pruned)).toEqual(["1", "a2"]);
  });

  it("keep moments that are younger than the minimum age, even beyond the maximum count", () => {
    const moments = [1, 2, 3, 30, 31].map((n) => action(n));
    const answer = answerPruning(ask(moments, { rules: { maxSnapshots: 1, maxAgeMs: 0 }, minAgeMs: 24 * HOUR }));
    expect(names(answer.pruned)).toEqual(["a1", "a2", "a3"]);
  });

  it("prune nothing if the clock jumped into the year 2100", () => {
    const moments = [1, 2, 3].map((n) => action(n));
    const ts = Date.parse("2100-01-01T00:00:00Z");
    expect(answerPruning(ask(moments, { head: { seq: 99, ts } })).pruned).toEqual([]);
    expect(answerPruning(ask([...moments, action(4, { ts })], { head: { seq: 99, ts } })).pruned).toEqual([]);
  });

  it("do not apply if they are 0", () => {
    const moments = [1, 2, 3].map((n) => action(n, { ts: START }));
    const late = { seq: 99, ts: START + 60 * DAY };
    expect(answerPruning(ask(moments, { rules: { maxSnapshots: 0, maxAgeMs: 0 }, head: late })).pruned).toEqual([]);
  });

  it("keep everything from the state on that unfinished work holds", () => {
    const moments = [1, 2, 3, 4, 5].map((n) => action(n));
    const answer = answerPruning(ask(moments, { rules: { maxSnapshots: 1, maxAgeMs: 0 }, hold: 20, states: [15] }));
    expect(names(answer.pruned)).toEqual(["a1"]);
    expect(answer.floorSeq).toBe(20);
    expect(answer.states).toEqual([15]);
  });
});

describe("the rules of a person", () => {
  it("keep the newest of each day", () => {
    const moments = [0, 5, 23, 24, 30, 50].map((n) => action(n));
    const answer = answerPruning(ask(moments, { rules: { daily: 2 } }));
    expect(names(answer.kept)).toEqual(["a30", "a50"]);
  });

  it("are combined, and each keeps further moments", () => {
    const moments = [0, 5, 23, 24, 30, 50].map((n) => action(n));
    const answer = answerPruning(ask(moments, { rules: { last: 1, withinMs: 21 * HOUR, yearly: 3 } }));
    expect(names(answer.kept)).toEqual(["a30", "a50"]);
  });

  it("begin a week on Monday, and count months by the calendar", () => {
    const at = (text: string): KeptMoment => ({
      kind: "snapshot",
      name: text,
      state: Date.parse(text) / 1e6,
      ts: Date.parse(text),
    });
    const moments = ["2030-01-06", "2030-01-07", "2030-01-31", "2030-02-01"].map(at);
    expect(names(answerPruning(ask(moments, { rules: { weekly: 9 } })).kept)).toEqual([
      "2030-01-06",
      "2030-01-07",
      "2030-02-01",
    ]);
    expect(names(answerPruning(ask(moments, { rules: { monthly: 9 } })).kept)).toEqual(["2030-01-31", "2030-02-01"]);
  });

  it("keep only shielded moments if no rule is given", () => {
    const moments = [action(1, { shield: "pinned" }), action(2)];
    const answer = answerPruning(ask(moments, { rules: {} }));
    expect(names(answer.kept)).toEqual(["a1"]);
    expect(answer.floorSeq).toBe(25);
  });
});

const moment = fc.record({
  kind: fc.constantFrom("action" as const, "snapshot" as const),
  step: fc.nat(5),
  ms: fc.nat(40 * DAY),
  shield: fc.constantFrom(undefined, undefined, undefined, "baseline", "named", "pinned", "open", "first"),
});

const questions = fc
  .record({
    items: fc.array(moment, { maxLength: 40 }),
    maxSnapshots: fc.nat(12),
    maxAgeMs: fc.nat(60 * DAY),
    minAgeMs: fc.constantFrom(0, DAY),
    rules: fc.option(fc.record({ last: fc.nat(5), daily: fc.nat(5) }), { nil: undefined }),
    hold: fc.option(fc.nat(150), { nil: undefined }),
  })
  .map(({ items, maxSnapshots, maxAgeMs, minAgeMs, rules, hold }) => {
    let state = 0;
    let ts = START;
    const moments = items.map(({ kind, step, ms, shield }, i): KeptMoment => {
      state += Math.max(kind === "action" ? 0 : 1, step);
      ts += ms;
      return { kind, name: String(i), state, ts, ...(shield === undefined ? {} : { shield: shield as "named" }) };
    });
    return ask(moments, {
      rules: rules ?? { maxSnapshots, maxAgeMs },
      minAgeMs,
      ...(hold === undefined ? {} : { hold }),
    });
  });

/**
 * True if a kept action has the same state as this moment. Two recorded actions never have the same state, but
 * generated actions can.
 */
function isShared(kept: readonly KeptMoment[], { state }: KeptMoment): boolean {
  return kept.some((one) => one.kind === "action" && one.state === state);
}

describe("for any question", () => {
  it("the states of kept moments are kept, and shielded and held moments are never pruned", () => {
    fc.assert(
      fc.property(questions, (question) => {
        const answer = answerPruning(question);
        const pruning = { floorSeq: answer.floorSeq, kept: answer.states };
        expect(answer.kept.every((one) => keepsState(pruning, one.state))).toBe(true);
        const isListed = (state: number): boolean => state >= answer.floorSeq || answer.actionStates.includes(state);
        const actions = answer.pruned.filter((one) => one.kind === "action");
        expect(actions.some((one) => isListed(one.state) && !isShared(answer.kept, one))).toBe(false);
        expect([...answer.kept, ...answer.pruned].length).toBe(question.moments.length);
        expect(answer.pruned.every((one) => one.shield === undefined)).toBe(true);
        expect(answer.pruned.every((one) => one.state < (question.hold ?? Infinity))).toBe(true);
        expect(answer.floorSeq).toBeLessThanOrEqual(question.head.seq);
        expect(answer.floorSeq).toBeLessThanOrEqual(question.hold ?? Infinity);
      }),
    );
  });

  it("at most `maxSnapshots` moments are kept that nothing shields", () => {
    fc.assert(
      fc.property(questions, (question) => {
        const { rules } = question;
        if (!("maxSnapshots" in rules) || rules.maxSnapshots === 0 || question.minAgeMs > 0) return;
        if (question.hold !== undefined) return;
        const plain = answerPruning(question).kept.filter((one) => isCounted(one) && one.shield === undefined);
        expect(plain.length).toBeLessThanOrEqual(rules.maxSnapshots);
      }),
    );
  });

  it("pruning again at once changes nothing", () => {
    fc.assert(
      fc.property(questions, (question) => {
        const { kept, floorSeq } = answerPruning(question);
        expect(answerPruning({ ...question, moments: kept, floorSeq }).pruned).toEqual([]);
      }),
    );
  });
});
