import {
  decodePrompt,
  decodeTurn,
  type Prompt,
  type TurnRecord,
  turnRecordId,
  turnsPrefix,
} from "../../core/records/turn-record.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import { meantBy } from "../../core/values/meant-by.ts";
import type { LoggedAction } from "./actions.ts";
import type { Context } from "../log/context.ts";
import { workspaceRecord } from "../log/own-record.ts";
import { readEvents } from "../log/read-events.ts";
import { actionsEver } from "./transactions.ts";
import { leastOf } from "../../util/long-lists.ts";

/** An agent's turn. A turn is known from its own record, from its actions, or from the events of a replica. */
export interface KnownTurn {
  readonly turn: string;
  /** Omitted for a turn of actions that name no session. */
  readonly session?: string;
  readonly actor: string;
  readonly started: string;
  /** The last event before the turn. The state right after this event is the state before the turn. */
  readonly before: number;
  /**
   * The event with which the turn begins: the last event of a commit, which changes no file. For a turn of a replica,
   * the same event as `before`.
   */
  readonly seq: number;
  /** The record of the turn. Omitted if no hook reported its beginning. */
  readonly record?: TurnRecord;
  /** The actions of the turn, oldest first. Empty for a turn of a replica. */
  readonly actions: readonly LoggedAction[];
}

async function recordedTurns(context: Context): Promise<{ readonly record: TurnRecord; readonly seq: number }[]> {
  const events = await readEvents(context, await context.index.records(turnsPrefix()));
  return events.map(({ record, seq }) => ({ record: decodeTurn(record), seq }));
}

function keyOf({ session = "", turn }: Pick<KnownTurn, "session" | "turn">): string {
  return JSON.stringify([session, turn]);
}

/** Returns all turns in the order in which they began, including those of replicas and those without a record. */
export async function everyTurn(context: Context): Promise<KnownTurn[]> {
  const actions = Map.groupBy(
    (await actionsEver(context)).filter(({ turn }) => turn !== undefined),
    ({ session = "", turn = "" }) => keyOf({ session, turn }),
  );
  const turns = new Map<string, KnownTurn>();
  for (const { record, seq } of await recordedTurns(context)) {
    const key = keyOf(record);
    const { session, turn, actor, started } = record;
    const own = actions.get(key) ?? [];
    turns.set(key, { session, turn, actor, started, before: seq - 1, seq, record, actions: own });
  }
  for (const [key, own] of actions) if (!turns.has(key)) turns.set(key, ofActions(own));
  for (const { session, turn, actor, firstTs, firstSeq } of await context.index.remoteWork()) {
    const key = keyOf({ session, turn });
    if (turn === "" || turns.has(key)) continue;
    const named = session === "" ? {} : { session };
    turns.set(key, { ...named, turn, actor, started: firstTs, before: firstSeq - 1, seq: firstSeq - 1, actions: [] });
  }
  return [...turns.values()].sort((a, b) => a.before - b.before);
}

function ofActions(own: readonly LoggedAction[]): KnownTurn {
  const [first] = own as readonly [LoggedAction];
  const { session, turn = "", actor, started } = first;
  const named = session === undefined ? {} : { session };
  const [before, seq] = [leastOf(own.map((one) => one.fromSeq)), leastOf(own.map((one) => one.seq))];
  return { ...named, turn, actor, started, before, seq, actions: own };
}

/**
 * Returns the turns that the text `asked` means: an id, the beginning of an id, or `<session>:<turn>`. Returns several
 * turns only if the text is ambiguous.
 */
export function turnsMeant(all: readonly KnownTurn[], asked: string): readonly KnownTurn[] {
  const found = meantBy(all, asked, ({ turn }) => turn);
  return found.length > 0 ? found : meantBy(all, asked, ({ session = "", turn }) => `${session}:${turn}`);
}

/** Returns the turn that the text `asked` means. Throws `NOT_FOUND` or `AMBIGUOUS`. */
export function theTurn(all: readonly KnownTurn[], asked: string): KnownTurn {
  const [only, ...others] = turnsMeant(all, asked);
  if (only === undefined)
    throw new ChronicleError("NOT_FOUND", `there is no turn ${JSON.stringify(asked)}`, {
      hint: "`chronicle turns` lists the turns",
    });
  if (others.length === 0) return only;
  throw new ChronicleError("AMBIGUOUS", `${JSON.stringify(asked)} stands for ${others.length + 1} turns`, {
    hint: "give more of the id, or write SESSION:TURN; `chronicle turns` lists them",
    data: { turns: [only, ...others].map(({ session = "", turn }) => `${session}:${turn}`) },
  });
}

/**
 * The state of the prompt of a turn. `none`: no prompt was recorded. `gone`: the prompt was recorded and is no longer
 * kept here. `hidden`: the caller is no person, so the prompt is not shown.
 */
export type PromptState = "kept" | "none" | "gone" | "hidden";

export interface ShownPrompt {
  readonly state: PromptState;
  /** Present only if the state is `kept`. */
  readonly prompt?: Prompt;
}

/** Reads the prompt of a turn, for a person. Agents and readers get no prompt. */
export async function promptOf(context: Context, { record }: Pick<KnownTurn, "record">): Promise<ShownPrompt> {
  const kept = record?.prompt;
  if (kept === undefined) return { state: "none" };
  if (context.caller.role !== "person") return { state: "hidden" };
  const isOver = Date.parse(kept.until) <= context.now() || (await workspaceRecord(context)).recordsPrompts === false;
  const bytes = isOver ? undefined : await context.blobs.get(kept.content);
  return bytes === undefined ? { state: "gone" } : { state: "kept", prompt: decodePrompt(bytes) };
}

/**
 * Returns the title of a turn, for people: the first line of its prompt that is not empty. Returns `undefined` if no
 * prompt is kept, or if the caller is no person.
 *
 * @public For lists that give a turn its title.
 */
export async function titleOfTurn(
  context: Context,
  of: Pick<TurnRecord, "session" | "turn">,
): Promise<string | undefined> {
  const row = await context.index.record(turnRecordId(of));
  if (row === undefined) return undefined;
  const [event] = await readEvents(context, [row]);
  if (event === undefined) return undefined;
  const { prompt } = await promptOf(context, { record: decodeTurn(event.record) });
  return prompt === undefined ? undefined : titleIn(prompt);
}

/** Returns the first line of a prompt that is not empty; `undefined` if there is none. */
function titleIn({ text }: Prompt): string | undefined {
  return text
    .split(/[\r\n]/)
    .find((line) => line.trim() !== "")
    ?.trim();
}
