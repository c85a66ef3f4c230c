import type { TickActor, TickKindName, TickOutcomeName, TicksShape } from "../../../src/api/tick-api.ts";

/** A tick in a readable form, for tests. */
interface Wanted {
  readonly last: number;
  readonly first?: number;
  readonly ended?: number;
  readonly took?: number;
  readonly kind?: TickKindName;
  readonly outcome?: TickOutcomeName;
  readonly actor?: string;
  readonly who?: TickActor["who"];
  readonly session?: string;
  readonly turn?: string;
  readonly changed?: number;
}

const KINDS: TickKindName[] = ["tool", "command", "edit", "undo", "snapshot"];
const OUTCOMES: TickOutcomeName[] = ["done", "open", "failed", "conflict"];

/**
 * Makes a piece (one answer of the server) from these ticks. By default, the work whose last event is `n` ended at
 * second `n`.
 */
export function piece(wanted: readonly Wanted[]): TicksShape {
  const before = (n: number): Wanted | undefined => wanted[n - 1];
  const endedOf = (one: Wanted): number => one.ended ?? one.last * 1_000;
  const place = (all: readonly string[], word: string | undefined): number =>
    word === undefined ? -1 : all.indexOf(word);
  const actors = [...new Map(wanted.map((one) => [one.actor ?? "claude", one.who ?? "agent"])).entries()];
  const [sessions, turns] = (["session", "turn"] as const).map((name) => [
    ...new Set(wanted.flatMap((one) => one[name] ?? [])),
  ]);
  return {
    ...{ kinds: KINDS, outcomes: OUTCOMES, actors: actors.map(([actor, who]) => ({ actor, who })) },
    ...{ sessions: sessions ?? [], turns: turns ?? [] },
    last: wanted.map(({ last }, n) => last - (before(n)?.last ?? 0)),
    events: wanted.map(({ last, first = last }) => last - first),
    ended: wanted.map((one, n) => endedOf(one) - (n === 0 ? 0 : endedOf(wanted[n - 1] ?? one))),
    took: wanted.map(({ took = 0 }) => took),
    kind: wanted.map(({ kind = "tool" }) => KINDS.indexOf(kind)),
    outcome: wanted.map(({ outcome = "done" }) => OUTCOMES.indexOf(outcome)),
    actor: wanted.map(({ actor = "claude" }) => actors.findIndex(([name]) => name === actor)),
    session: wanted.map(({ session }) => place(sessions ?? [], session)),
    turn: wanted.map(({ turn }) => place(turns ?? [], turn)),
    changed: wanted.map(({ changed = 1 }) => changed),
    head: wanted.at(-1)?.last ?? 0,
    more: false,
  };
}
