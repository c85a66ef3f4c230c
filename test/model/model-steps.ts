import fc from "fast-check";
import type { Crash } from "./model-machine.ts";
import type { Touch } from "./model-tree.ts";

/** One step of a history. `pick` is a number that chooses among the items that exist when the step is performed. */
export type Happening =
  | { readonly kind: "touch"; readonly touches: readonly Touch[] }
  | Begin
  /** An action that begins, works and ends in one step. */
  | { readonly kind: "act"; readonly begin: Begin; readonly touches: readonly Touch[]; readonly place: number }
  | {
      readonly kind: "finish";
      readonly pick: number;
      readonly outcome: "done" | "failed" | "denied" | "never";
      readonly touches: readonly Touch[];
      readonly place: number;
    }
  | { readonly kind: "run"; readonly touches: readonly Touch[]; readonly code: number; readonly rollback: boolean }
  | { readonly kind: "begin-transaction"; readonly session: boolean; readonly who: number; readonly owned: boolean }
  | { readonly kind: "commit" | "rollback-transaction"; readonly pick: number }
  | { readonly kind: "undo" | "redo" | "snapshot" | "gc" | "rebuild" | "compact" | "drop" | "reopen" | "restart" }
  | {
      readonly kind: "undo-of";
      readonly by: "action" | "turn" | "session" | "actor" | "file" | "since" | "to";
      readonly pick: number;
      readonly dryRun: boolean;
    }
  | { readonly kind: "rollback" | "restore"; readonly pick: number }
  | { readonly kind: "redo-of"; readonly pick: number }
  | { readonly kind: "resolve"; readonly pick: number; readonly keep: "current" | "undo" | "merged" }
  | { readonly kind: "prune"; readonly keepLast: number; readonly hourly: number; readonly keepPinned: boolean }
  | { readonly kind: "pin"; readonly pick: number; readonly pinned: boolean }
  | { readonly kind: "rule"; readonly pick: number; readonly name: string; readonly inOptions: boolean }
  | { readonly kind: "wait"; readonly ms: number }
  | { readonly kind: "verify" };

/** The begin of an action. There are two agents (`who`), each with one session of several turns. */
export interface Begin {
  readonly kind: "begin";
  readonly who: number;
  readonly type: string;
  readonly path: string;
  readonly to: string;
  readonly turn: number;
  /** 0 for a call of the agent itself, 1 for a call of a sub-agent. */
  readonly depth: number;
  /** False if no process owns the action (`pid: null`). */
  readonly owned: boolean;
}

/** A step, with a loss of power in it or without one. */
export interface Scripted {
  readonly what: Happening;
  readonly crash: Crash | undefined;
}

const PATHS = ["shared", "shared", "shared", "d/x", "d/y", "d", "e/f", "e/f/z", "new", "e"];
/** A path in one of the roots. `1>d/x` is `d/x` in the second root, if there is one (see `placedIn`). */
const path = fc
  .tuple(fc.constantFrom("", "", "1>", "2>"), fc.constantFrom(...PATHS))
  .map(([root, inner]) => root + inner);
const pick = fc.nat(30);

const touch = fc.record<Touch>({
  how: fc.constantFrom(
    "edit",
    "edit",
    "edit",
    "edit",
    "edit",
    "remove",
    "chmod",
    "binary",
    "link",
    "folder",
    "large",
    "lock",
  ),
  path,
  place: fc.nat(9),
});
const touches = fc.array(touch, { minLength: 1, maxLength: 3 });

const TYPES = [
  "write_file",
  "write_file",
  "write_file",
  "delete_file",
  "delete_directory",
  "move_file",
  "move_directory",
  "copy_file",
  "create_directory",
  "run_command",
  "rm",
  "some_tool",
];

const begin = fc.record<Begin>({
  kind: fc.constant("begin"),
  who: fc.nat(1),
  type: fc.constantFrom(...TYPES),
  path,
  to: path,
  turn: fc.constantFrom(1, 1, 1, 2),
  depth: fc.constantFrom(0, 0, 0, 1),
  owned: fc.boolean(),
});

const simple = <K extends string>(...kinds: readonly K[]): fc.Arbitrary<{ readonly kind: K }> =>
  fc.record({ kind: fc.constantFrom(...kinds) });

const happening: fc.Arbitrary<Happening> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ kind: fc.constant("touch" as const), touches }) },
  { weight: 5, arbitrary: begin },
  {
    weight: 16,
    arbitrary: fc.record({
      kind: fc.constant("act" as const),
      begin,
      touches: fc.array(touch, { maxLength: 1 }),
      place: fc.nat(9),
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant("finish" as const),
      pick,
      outcome: fc.constantFrom("done", "done", "done", "done", "failed", "denied", "never"),
      touches: fc.array(touch, { maxLength: 2 }),
      place: fc.nat(8),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant("run" as const),
      touches,
      code: fc.constantFrom(0, 0, 1),
      rollback: fc.boolean(),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant("begin-transaction" as const),
      session: fc.boolean(),
      who: fc.nat(1),
      owned: fc.boolean(),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({ kind: fc.constantFrom("commit" as const, "rollback-transaction" as const), pick }),
  },
  { weight: 6, arbitrary: simple("undo", "undo", "undo", "redo", "redo", "snapshot") },
  { weight: 3, arbitrary: simple("gc", "rebuild", "compact", "compact", "drop", "reopen", "reopen", "restart") },
  {
    weight: 9,
    arbitrary: fc.record({
      kind: fc.constant("undo-of" as const),
      by: fc.constantFrom("action", "action", "action", "turn", "session", "actor", "file", "since", "to"),
      pick,
      dryRun: fc.boolean(),
    }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constantFrom("rollback" as const, "restore" as const), pick }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant("redo-of" as const), pick }) },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant("resolve" as const),
      pick,
      keep: fc.constantFrom("current", "undo", "merged"),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant("prune" as const),
      keepLast: fc.nat(4),
      hourly: fc.nat(2),
      keepPinned: fc.boolean(),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("pin" as const), pick, pinned: fc.boolean() }) },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant("wait" as const), ms: fc.constantFrom(10_000, 3_600_000, 86_400_000) }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant("rule" as const),
      pick,
      name: fc.constantFrom("x", "z", "f", "new", "e"),
      inOptions: fc.boolean(),
    }),
  },
  { weight: 1, arbitrary: simple("verify") },
);

const crash: fc.Arbitrary<Crash | undefined> = fc.oneof(
  { weight: 15, arbitrary: fc.constant(undefined) },
  {
    weight: 1,
    arbitrary: fc.record<Crash>({
      after: fc.nat(60),
      mode: fc.constantFrom("stop-before", "stop-torn", "stop-after"),
      fate: fc.oneof(fc.constantFrom("forget" as const, "keep" as const), fc.record({ seed: fc.nat(1_000) })),
    }),
  },
);

/**
 * A random history: its steps, and how they are played. `keep`: how many snapshots of actions are kept (0: no limit).
 * `hooks`: each step is a process of its own.
 */
export const histories = fc.record({
  script: fc.array(fc.record<Scripted>({ what: happening, crash }), { minLength: 16, maxLength: 40, size: "max" }),
  keep: fc.constantFrom(0, 0, 4, 8),
  /**
   * If true, the history may have files that are too large or unreadable, and rules that change. Half of the histories
   * have none of these, because the model can check less then.
   */
  hides: fc.boolean(),
  hooks: fc.constantFrom(false, false, true),
  index: fc.constantFrom("memory" as const, "memory" as const, "sqlite" as const),
  layout: fc.constantFrom("one", "two", "two", "three", "three", "file"),
});

/** Returns a script in which no file is too large, unreadable or omitted by a rule. */
export function withoutHiding(script: readonly Scripted[]): Scripted[] {
  const plain = (one: Touch): Touch => (one.how === "large" || one.how === "lock" ? { ...one, how: "edit" } : one);
  return script.flatMap(({ what, crash }) => {
    if (what.kind === "rule") return [];
    return [{ crash, what: "touches" in what ? { ...what, touches: what.touches.map(plain) } : what }];
  });
}
